import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { handlingDeps, textBody } from '../../../test/inbound-fixture.ts'
import { connectNumber } from '../../../test/world.ts'
import { connect } from '../../db/connect.ts'
import { lockCustomers } from '../../people/customer-store.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { ALL_LANES, listBusyLanes, UNPROVEN } from '../event-store.ts'
import { acceptBodies, toEvents } from '../ingest/accept.ts'
import { type HandleEventsDeps, handleApart, handleLanes } from './handle-events.ts'

let db: TestDatabase['db']
let url: string
let deps: HandleEventsDeps
beforeAll(async () => {
  ;({ db, url } = await createTestDatabase({ mirrors: true }))
  deps = handlingDeps(db)
})
beforeEach(async () => {
  await db`truncate inbound_events`
})

/** Like the worker: failing lanes run after the others. */
async function handle(deps: HandleEventsDeps, lanes: number[]): Promise<number> {
  let { handled, failing } = await handleLanes(deps, lanes)
  for (const lane of failing) handled += (await handleApart(deps, lane)).handled
  return handled
}

/** Connects numbers in distinct lanes. */
async function connectNumbers(count: number): Promise<{ number: string; lane: number }[]> {
  const found = new Map<number, string>()
  while (found.size < count) {
    const number = await connectNumber(db)
    found.set(laneOf(number), number)
  }
  return [...found].map(([lane, number]) => ({ lane, number }))
}

const laneOf = (number: string): number => toEvents(eventReader, textBody(number, 'w'))[0]!.lane
const accept = (...bodies: Buffer[]) =>
  acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
const wamids = async (prefix: string) => {
  const rows = await db<{ wamid: string }[]>`
    select wamid from messages where company_id > 0 and wamid like ${`${prefix}%`} order by id
  `
  return rows.map(({ wamid }) => wamid)
}

test('events of several lanes are handled in one transaction, each number in its order', async () => {
  const [one, other] = await connectNumbers(2)
  await accept(textBody(one!.number, 'a1'), textBody(other!.number, 'a2'), textBody(one!.number, 'a3'))
  expect(await handle(deps, [one!.lane, other!.lane])).toBe(3)
  expect(await wamids('a')).toEqual(['a1', 'a2', 'a3'])
  const written = await db`select distinct xmin::text from messages where company_id > 0 and wamid like 'a%'`
  expect(written).toHaveLength(1)
  expect(await listBusyLanes(db, ALL_LANES, 10)).toEqual([])
})

test('a lane that another worker has is left to it, the others are handled', async () => {
  const [held, free] = await connectNumbers(2)
  await accept(textBody(held!.number, 'b1'), textBody(free!.number, 'b2'))
  const lanes = [held!.lane, free!.lane]
  const started = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const forward = async () => {
    started.resolve()
    await mayEnd.promise
    return () => {}
  }
  const other = handle({ ...deps, forward }, [held!.lane])
  await started.promise
  expect(await handle(deps, lanes)).toBe(1)
  expect(await wamids('b')).toEqual(['b2'])
  mayEnd.resolve()
  expect(await other).toBe(1)
  expect(await handle(deps, lanes)).toBe(0)
  expect(await wamids('b')).toEqual(['b1', 'b2'])
})

test('an item that the database refuses fails alone among the lanes of its transaction', async () => {
  const [one, other] = await connectNumbers(2)
  await db`alter table messages add constraint refused check (text <> 'refuse me')`
  await accept(
    textBody(one!.number, 'c1'),
    textBody(other!.number, 'c2', 'refuse me'),
    textBody(one!.number, 'c3'),
    textBody(other!.number, 'c4'),
  )
  expect(await handle(deps, [one!.lane, other!.lane])).toBe(4)
  expect(await wamids('c')).toEqual(['c1', 'c3', 'c4'])
  const deadLetters = await db<{ state: string; body: Buffer }[]>`select state, body from inbound_items`
  expect(deadLetters.map(({ state, body }) => [state, String(body).includes('c2')])).toEqual([['failed', true]])
  await db`alter table messages drop constraint refused`
})

test('busy lanes are listed by their oldest event, counted up to the limit', async () => {
  const [one, other] = await connectNumbers(2)
  await accept(...['d1', 'd2', 'd3'].map((wamid) => textBody(one!.number, wamid)), textBody(other!.number, 'd4'))
  expect(await listBusyLanes(db, ALL_LANES, 2)).toEqual([
    { lane: one!.lane, waiting: 2 },
    { lane: other!.lane, waiting: 1 },
  ])
})

test('a customer that another transaction has locked delays only the lane of the customer, and fails no item', async () => {
  const [held, free] = await connectNumbers(2)
  const impatient = connect(url, { limits: { statementMs: 5_000, lockMs: 200, idleInTransactionMs: 5_000 } })
  await accept(textBody(held!.number, 'e1'), textBody(free!.number, 'e2'))
  const ended = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const lock = db.begin(async (tx) => {
    const [route] = await tx`select company_id from sender_routes where phone_number_id = ${held!.number}`
    await lockCustomers(tx, [{ companyId: route!.companyId, identity: '393331' }])
    locked.resolve()
    await ended.promise
  })
  await locked.promise
  const { failing } = await handleLanes({ ...deps, db: impatient }, [held!.lane, free!.lane])
  expect([await wamids('e'), failing]).toEqual([['e2'], [held!.lane]])
  await expect(handleApart({ ...deps, db: impatient }, held!.lane)).rejects.toMatchObject({ code: '55P03' })
  ended.resolve()
  await lock
  expect(await handleApart({ ...deps, db: impatient }, held!.lane)).toMatchObject({ handled: 1 })
  expect(await wamids('e')).toEqual(['e2', 'e1'])
  await impatient.end()
})

test.each([
  ['an edit of a message that is not held', { type: 'edit', edit: { original_message_id: 'wamid.none', message: {} } }],
  ['a revoke without a message', { type: 'revoke', revoke: {} }],
  ['a message in a group', { type: 'text', text: { body: 'x' }, group_id: 'g1' }],
])('%s waits for an erasure of its writer that begins', async (_name, message) => {
  const [own] = await connectNumbers(1)
  const impatient = connect(url, { limits: { statementMs: 5_000, lockMs: 200, idleInTransactionMs: 5_000 } })
  const { lane, number } = own!
  const element = { id: `wamid.${randomUUID()}`, from: '393331', timestamp: '1750000000', ...message }
  const value = { metadata: { phone_number_id: number }, messages: [element] }
  await accept(Buffer.from(JSON.stringify({ entry: [{ changes: [{ field: 'messages', value }] }] })))
  const [route] = await db<{ companyId: number }[]>`
    select company_id from sender_routes where phone_number_id = ${number} and company_id > 0
  `
  const release = await holdOpen(db, (tx) => lockCustomers(tx, [{ companyId: route!.companyId, identity: '393331' }]))
  await expect(handleApart({ ...deps, db: impatient }, lane)).rejects.toMatchObject({ code: '55P03' })
  await release()
  expect(await handleApart({ ...deps, db: impatient }, lane)).toMatchObject({ handled: 1 })
  await impatient.end()
})
