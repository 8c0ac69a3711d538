import { afterAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_TOKEN, createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { expireTable } from '../../../test/lifetimes.ts'
import { operatorDeps } from '../../../test/operator-deps.ts'
import { type DeadLetterState, storeDeadLetters } from '../../inbound/handling/unhandled/dead-letter-store.ts'
import { retryEvents } from './event.ts'
import { eventRoutes } from './event-routes.ts'

const { db } = await createTestDatabase()
const deps = operatorDeps(db)
const { app } = await createTestApi({ db, routes: async (server) => void (await server.register(eventRoutes(deps))) })
afterAll(() => app.close())
beforeEach(async () => {
  await db`truncate inbound_items`
})

async function get(path: string) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const answer = await app.inject({ method: 'GET', url: `/admin/v1${path}`, headers })
  return { status: answer.statusCode, body: answer.json() }
}
const keep = (state: DeadLetterState, body: string, receivedAt = new Date()) =>
  storeDeadLetters(db, [
    {
      state,
      reason: state,
      phoneNumberId: '5',
      wabaAccountId: null,
      app: null,
      body: Buffer.from(body),
      receivedAt,
      eventId: null,
    },
  ])
const bodiesOf = async (path: string) => (await get(path)).body.map(({ body }: { body: string }) => body)

test.each([
  ['/unroutable-events', ['unroutable']],
  ['/failed-events', ['failed', 'unreadable']],
] as const)('%s is listed newest first, 25 at a time, page by page', async (path, states) => {
  for (let n = 1; n <= 30; n += 1) {
    await keep(states[n % states.length]!, String(n))
    await keep(path === '/failed-events' ? 'unroutable' : 'failed', 'of the other list')
  }
  const numbers = Array.from({ length: 30 }, (_, n) => String(30 - n))
  const first = await get(path)
  expect(first.body.map(({ body }: { body: string }) => body)).toEqual(numbers.slice(0, 25))
  expect(await bodiesOf(`${path}?before=${first.body[24].id}`)).toEqual(numbers.slice(25))
  expect(await bodiesOf(`${path}?limit=3`)).toEqual(numbers.slice(0, 3))
  expect(await bodiesOf(`${path}?limit=1000`)).toEqual(numbers)
  expect(await bodiesOf(`${path}?before=1`)).toEqual([])
  const malformed = await get(`${path}?before=x`)
  expect([malformed.status, malformed.body.error.details.fields[0].path]).toEqual([422, 'before'])
})

test('a list is filtered as a retry is: by a part of the reason and by the number', async () => {
  await keep('failed', 'one')
  await keep('unreadable', 'two')
  await db`update inbound_items set phone_number_id = '6' where reason = 'unreadable'`
  expect(await bodiesOf('/failed-events?reason=READ')).toEqual(['two'])
  expect(await bodiesOf('/failed-events?phoneNumberId=5')).toEqual(['one'])
  expect(await bodiesOf('/failed-events?phoneNumberId=5&reason=unreadable')).toEqual([])
  expect((await get('/failed-events?reason=')).status).toBe(422)
})

test('at most 100 are listed', async () => {
  await storeDeadLetters(
    db,
    Array.from({ length: 101 }, () => ({
      ...{ state: 'failed' as const, reason: '', phoneNumberId: null, wabaAccountId: null, app: null },
      body: Buffer.from('x'),
      receivedAt: new Date(),
      eventId: null,
    })),
  )
  expect(await bodiesOf('/failed-events?limit=101')).toHaveLength(100)
})

test('a list shows the first 4 KiB of a body, and whole characters; the event itself all of it', async () => {
  const body = `${'x'.repeat(4_095)}€${'y'.repeat(5_000)}`
  await keep('failed', body)
  const [listed] = (await get('/failed-events')).body
  expect(listed).toMatchObject({ state: 'failed', body: 'x'.repeat(4_095), bodyBytes: 9_098 })
  expect((await get(`/failed-events/${listed.id}`)).body).toEqual({ ...listed, body })
  expect((await get(`/unroutable-events/${listed.id}`)).status).toBe(404)
})

test.each(['0', '999999', 'x', '99999999999999999999'])('404 for an event that is not there: %s', async (id) => {
  for (const list of ['failed-events', 'unroutable-events']) {
    expect(await get(`/${list}/${id}`)).toEqual({ status: 404, body: { message: 'Event not found' } })
  }
})

test('events of every state live 30 days', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000)
  for (const state of ['unroutable', 'failed', 'unreadable'] as const) {
    await keep(state, 'old', daysAgo(30.01))
    await keep(state, 'young', daysAgo(29.99))
  }
  expect(await expireTable(db, 'inbound_items', 2)).toBe(2)
  expect(await expireTable(db, 'inbound_items')).toBe(1)
  const left = await db<{ body: Buffer }[]>`select body from inbound_items`
  expect(left.map(({ body }) => String(body))).toEqual(['young', 'young', 'young'])
})

test('a retry whose transaction dies has tried nothing, and a repeated one tries each event once', async () => {
  const bodies = Array.from({ length: 250 }, (_, n) => `{"n":${n}}`)
  for (const body of bodies) await keep('failed', body)
  await keep('unroutable', '{"of":"the other list"}')
  await db.unsafe(`
    create function die() returns trigger language plpgsql as $$ begin raise exception 'dies'; end $$;
    create trigger die after insert on inbound_events for each row when (convert_from(new.body, 'UTF8') = '{"n":150}')
      execute function die();
  `)
  const retry = () => retryEvents(deps, 'failed', {})
  await expect(retry()).rejects.toThrow('dies')
  expect(await db`select from inbound_items`).toHaveLength(151)
  await db.unsafe('drop trigger die on inbound_events; drop function die();')
  expect(await retry()).toBe(150)
  const queued = await db<{ body: Buffer }[]>`select body from inbound_events order by id`
  expect(queued.map(({ body }) => String(body)).toSorted()).toEqual(bodies.toSorted())
  expect(await db`select state from inbound_items`).toEqual([{ state: 'unroutable' }])
})
