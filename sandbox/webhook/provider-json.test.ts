import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { providerJson, signatureOf } from './provider-json.ts'

test('escapes what is not ASCII, and slashes, and stays the same JSON', () => {
  const value = { text: 'Caffè 👍 a/b "q" \\ \u2028', n: 1 }
  const text = providerJson(value)
  expect(text).toContain('Caff\\u00e8 \\ud83d\\udc4d a\\/b')
  expect(text).toMatch(/^[\x20-\x7e]*$/)
  expect(JSON.parse(text)).toEqual(value)
})

test('signs the bytes', () => {
  const body = Buffer.from('{"a":1}')
  expect(signatureOf(body, 's')).toBe(`sha256=${createHmac('sha256', 's').update('{"a":1}').digest('hex')}`)
  expect(signatureOf(body, 's')).toMatch(/^sha256=[0-9a-f]{64}$/)
})
