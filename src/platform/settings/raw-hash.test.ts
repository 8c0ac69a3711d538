import { expect, test } from 'vitest'
import { readConfig } from '../settings/config.ts'
import { hasRawHash, RAW_HASH } from './setting-reader.ts'

test.each([
  ['smtp://user:pa#ss@mail.example', true],
  ['postgres://user#x:pw@db.example/parley', true],
  ['smtp://user:pa%23ss@mail.example', false],
  ['https://shop.example/page#part', false],
])('%s has a # before its host: %s', (address, isRaw) => {
  expect(hasRawHash(address)).toBe(isRaw)
})

test.each([
  'SMTP_URL',
  'DATABASE_URL',
  'REDIS_URL',
])('%s with a # in its password is refused with the remedy', (name) => {
  const scheme = name === 'SMTP_URL' ? 'smtp' : name === 'REDIS_URL' ? 'redis' : 'postgres'
  expect(() => readConfig({ [name]: `${scheme}://user:pa#ss@host.example` })).toThrow(`${name} ${RAW_HASH}`)
})
