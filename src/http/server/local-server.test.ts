import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { messageOf } from '../../platform/start-error.ts'
import { createLocalServer } from './local-server.ts'

const app = createLocalServer((error) => `told: ${messageOf(error)}`)
const body = Type.Object({ count: Type.Integer() })
app.post('/numbers', { schema: { body, response: { 200: body } } }, async ({ body }) => body)
app.get('/broken', async () => {
  throw new Error('permission denied for table companies')
})

test('validates bodies and answers like the service', async () => {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/numbers', payload: { count: 7 } })
  expect([statusCode, body]).toEqual([200, '{"count":7}'])
})

test.each([
  [{ count: 'seven' }, 'count must be integer'],
  [{ count: 7, other: 1 }, 'other'],
])('refuses %j in one text', async (payload, text) => {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/numbers', payload })
  expect([statusCode, body]).toEqual([500, expect.stringMatching(new RegExp(`^told: validation_error: .*${text}`))])
})

test('answers an unexpected error with its own text', async () => {
  expect((await app.inject('/broken')).body).toBe('told: permission denied for table companies')
})

test('finds nothing at other paths', async () => {
  expect((await app.inject('/numbers/1')).body).toBe('told: not_found: There is nothing at this address')
})
