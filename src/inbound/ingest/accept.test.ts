import fc from 'fast-check'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { UNPROVEN } from '../event-store.ts'
import { acceptBodies, createAccept, toEvents } from './accept.ts'

let db: TestDatabase['db']
beforeAll(async () => {
  db = (await createTestDatabase({ mirrors: true })).db
})
beforeEach(async () => {
  await db`truncate inbound_events`
})

const bodiesKept = async (): Promise<Buffer[]> =>
  (await db<{ body: Buffer }[]>`select body from inbound_events order by id`).map(({ body }) => body)
const naming = (...numbers: string[]) =>
  Buffer.from(numbers.map((number) => `{"phone_number_id":"${number}"}`).join('\n'))

test('bodies of any bytes are kept as they came, in their order', async () => {
  const anyBodies = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(anyBodies, async (arrays) => {
      await db`truncate inbound_events`
      const bodies = arrays.map((bytes) => Buffer.from(bytes))
      await acceptBodies(
        db,
        eventReader,
        bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
      )
      expect(await bodiesKept()).toEqual(bodies)
    }),
    { numRuns: 50 },
  )
})

test('a body of several numbers is there once for each, between its neighbours', async () => {
  const bodies = [
    naming('1'),
    naming('2', '3', '4'),
    Buffer.from('no JSON \0 at all'),
    naming('5', '6'),
    naming('5', '6'),
  ]
  await acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
  const rows = await db<{ part: string; body: Buffer }[]>`select part, body from inbound_events order by id`
  const expected = [['1'], ['2', '3', '4'], [''], ['5', '6'], ['5', '6']].flatMap((parts, place) =>
    parts.map((part) => ({ part, body: bodies[place] })),
  )
  expect(rows.map(({ part, body }) => ({ part, body }))).toEqual(expected)
})

const posted = (body: string | Buffer) => ({ body: Buffer.from(body), proof: UNPROVEN, address: '192.0.2.1' })

test('one statement carries at most 8 MiB', async () => {
  const accept = createAccept(db, eventReader)
  const body = Buffer.alloc(1.5 * 1024 * 1024)
  // Freezes time, so that slow machines never hit the wait limit.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  await Promise.all(Array.from({ length: 16 }, () => accept(posted(body))))
  clock.mockRestore()
  const statements = await db<{ bytes: number }[]>`
    select sum(octet_length(body))::float8 as bytes from inbound_events group by xmin::text
  `
  expect(statements.length).toBeGreaterThanOrEqual(4)
  for (const { bytes } of statements) expect(bytes).toBeLessThanOrEqual(8 * 1024 * 1024)
})

test('a small body does not wait for the statement of a large one', async () => {
  const statement = Promise.withResolvers<void>()
  const accept = createAccept(db, eventReader, async ([event]) => {
    if ((event?.body.length ?? 0) > 64 * 1024) await statement.promise
  })
  const large = accept(posted(Buffer.alloc(1024 * 1024)))
  await accept(posted('small'))
  statement.resolve()
  await large
})

test('a large body of many numbers is stored no more often than one statement carries', () => {
  const body = Buffer.concat([naming(...Array.from({ length: 10 }, (_, n) => `9${n}`)), Buffer.alloc(3 * 1024 * 1024)])
  expect(toEvents(eventReader, body)).toHaveLength(2)
})

test('a body whose request has timed out is not stored, and not reported as stored', async () => {
  const accept = createAccept(db, eventReader)
  const locked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const outage = db.begin(async (tx) => {
    await tx`lock table inbound_events in exclusive mode`
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const started = [accept(posted('1')), accept(posted('2'))]
  await new Promise((turn) => setImmediate(turn))
  const late = expect(accept(posted('3'))).rejects.toMatchObject({ status: 503 })
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000)
  released.resolve()
  await Promise.all([outage, ...started, late])
  clock.mockRestore()
  expect((await bodiesKept()).map(String).sort()).toEqual(['1', '2'])
  await accept(posted('4'))
  expect((await bodiesKept()).map(String)).toContain('4')
})
