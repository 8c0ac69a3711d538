import fastify from 'fastify'
import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../../test/database.ts'
import { answerErrors } from '../../errors/error-reply.ts'
import { boundHandlers } from './answers.ts'

const { db } = await createTestDatabase()
await db`create sequence tries minvalue 0 start 0`

/** Fails the first `count` tries with a SQLSTATE. */
const tryWith = (state: string, count: number) =>
  db.unsafe(`
    do $$ begin
      if nextval('tries') < ${count} then raise exception 'in the way' using errcode = '${state}'; end if;
    end $$
  `)

const app = fastify()
answerErrors(app)
boundHandlers(app, db)
const handler = async ({ query }: { query: unknown }) => {
  const { state = '', count = '0' } = query as { state?: string; count?: string }
  await tryWith(state, Number(count))
  return { data: 'read' }
}
app.get('/read', handler)
app.post('/write', handler)
app.get('/others', { config: { waitsForOthers: true } }, handler)

const tries = async () => (await db<[{ lastValue: number }]>`select last_value from tries`)[0].lastValue + 1

beforeEach(async () => {
  await db`alter sequence tries restart`
})

const UNAVAILABLE = {
  error: { code: 'service_unavailable', message: 'Another request changed the same data: try again soon' },
}

test.each(['40P01', '40001'])('a read that fails with %s once is answered', async (state) => {
  for (const path of ['/read', '/others']) {
    await db`alter sequence tries restart`
    const { statusCode, body } = await app.inject(`${path}?state=${state}&count=1`)
    expect([statusCode, JSON.parse(body)]).toEqual([200, { data: 'read' }])
  }
})

test.each(['40P01', '40001'])('a read that fails with %s again is 503 after two tries', async (state) => {
  const { statusCode, headers, body } = await app.inject(`/read?state=${state}&count=9`)
  expect([statusCode, headers['retry-after'], JSON.parse(body)]).toEqual([503, '1', UNAVAILABLE])
  expect(await tries()).toBe(2)
})

test.each(['40P01', '40001'])('a write that fails with %s is 503 after one try', async (state) => {
  const { statusCode, headers, body } = await app.inject({ method: 'POST', url: `/write?state=${state}&count=1` })
  expect([statusCode, headers['retry-after'], JSON.parse(body)]).toEqual([503, '1', UNAVAILABLE])
  expect(await tries()).toBe(1)
})

test.each([
  '0A000',
  '42703',
  '42883',
  '42P01',
  '42704',
])('a read that an upgrade fails with %s is read again, a write 503', async (state) => {
  const read = await app.inject(`/read?state=${state}&count=1`)
  expect([read.statusCode, JSON.parse(read.body)]).toEqual([200, { data: 'read' }])
  await db`alter sequence tries restart`
  const { statusCode, headers, body } = await app.inject({ method: 'POST', url: `/write?state=${state}&count=1` })
  const error = { code: 'service_unavailable', message: 'The service is being upgraded: try again soon' }
  expect([statusCode, headers['retry-after'], JSON.parse(body)]).toEqual([503, '1', { error }])
  expect(await tries()).toBe(1)
})
