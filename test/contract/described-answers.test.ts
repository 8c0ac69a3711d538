import { expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { requireDescribedAnswers, takeAnswerFaults } from './answer-faults.ts'

const { db } = await createTestDatabase()
const schema = { operationId: 'readMe' }
const DATA = { data: { companyId: 'seven' } }

/** The faults of a service whose GET /public/v1/me gives this answer. */
async function answering(status: number, body: unknown, type = 'application/json'): Promise<string[]> {
  const { app } = await createTestApi({
    db,
    routes: (server) => {
      server.get('/public/v1/me', { schema }, async (_request, reply) => reply.code(status).type(type).send(body))
    },
  })
  const { headers } = await createTestKey(db)
  expect((await app.inject({ url: '/public/v1/me', headers })).statusCode).toBe(status)
  await app.close()
  return takeAnswerFaults()
}

test.each([
  ['a status', 418, {}, 'status 418 is not described'],
  ['a shape', 200, DATA, 'status 200 has a body of another shape: data'],
  ['a content type', 200, 'text', 'status 200 with content type text/plain is not described'],
] as const)('an answer with %s that is not described fails its test', async (_, status, body, fault) => {
  const [found, ...others] = await answering(status, body, body === 'text' ? 'text/plain' : undefined)
  expect(found).toContain(`GET /public/v1/me: ${fault}`)
  expect(others).toEqual([])
})

test('an error with a code that the operation does not have fails its test', async () => {
  const [found] = await answering(409, { error: { code: 'duplicate_resource', message: 'Twice' } })
  expect(found).toContain('GET /public/v1/me: status 409 is not described')
  const [other] = await answering(403, { error: { code: 'not_found', message: 'Nothing here' } })
  expect(other).toContain('status 403 has a body of another shape')
})

test('the setup file fails a test whose answers were not described, and no later one', async () => {
  const { app } = await createTestApi({
    db,
    routes: (server) =>
      void server.get('/public/v1/me', { schema }, async (_request, reply) => reply.code(418).send({})),
  })
  await app.inject({ url: '/public/v1/me', headers: (await createTestKey(db)).headers })
  expect(requireDescribedAnswers).toThrow(
    'openapi.json does not describe these answers:\nGET /public/v1/me: status 418 is not described',
  )
  expect(requireDescribedAnswers).not.toThrow()
  await app.close()
})

test('an answer of a route without an operation is not compared', async () => {
  const { app } = await createTestApi({
    db,
    routes: (server) =>
      void server.get('/public/v1/me', { config: { surface: 'public' } }, async () => ({ made: 'up' })),
  })
  expect((await app.inject({ url: '/public/v1/me' })).statusCode).toBe(200)
  expect((await app.inject({ url: '/nothing-here' })).statusCode).toBe(404)
  await app.close()
  expect(takeAnswerFaults()).toEqual([])
})
