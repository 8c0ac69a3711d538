import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import { systemClock } from '../clock.ts'
import { acceptBodies, LANES, toEvents } from './accept.ts'
import { listBusyLanes } from './event-store.ts'
import { type HandleEventsDeps, handleLanes } from './handle-events.ts'

let db: TestDatabase['db']
let deps: HandleEventsDeps
beforeAll(async () => {
  db = (await createTestDatabase()).db
  deps = {
    db,
    clock: systemClock,
    sourceType: 'parley',
    forward: async () => () => {},
    copyMedia: async () => () => {},
    onSetAside: () => {},
  }
})
beforeEach(async () => {
  await db`truncate inbound_events`
})

/** A connected number of its own company. */
async function connectNumber(): Promise<string> {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const [sender] = await db<{ phoneNumberId: string }[]>`select phone_number_id from senders where id = ${senderId}`
  const phoneNumberId = sender!.phoneNumberId
  await db`
    insert into sender_routes (phone_number_id, company_id, sender_id)
    values (${phoneNumberId}, ${companyId}, ${senderId})
  `
  return phoneNumberId
}

/** Numbers of lanes that differ. */
async function connectNumbers(count: number): Promise<{ number: string; lane: number }[]> {
  const found = new Map<number, string>()
  while (found.size < count) {
    const number = await connectNumber()
    found.set(laneOf(number), number)
  }
  return [...found].map(([lane, number]) => ({ lane, number }))
}

const bodyOf = (number: string, wamid: string, text = 'Hello') =>
  Buffer.from(
    JSON.stringify({
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                metadata: { phone_number_id: number },
                messages: [{ from: '393331', id: wamid, timestamp: '1760000000', type: 'text', text: { body: text } }],
              },
            },
          ],
        },
      ],
    }),
  )
const laneOf = (number: string): number => toEvents(bodyOf(number, 'w'))[0]!.lane
const accept = (...bodies: Buffer[]) =>
  acceptBodies(
    db,
    bodies.map((body) => ({ body, receivedAt: null })),
  )
const wamids = async (prefix: string) =>
  (await db<{ wamid: string }[]>`select wamid from messages where wamid like ${`${prefix}%`} order by id`).map(
    ({ wamid }) => wamid,
  )

test('events of several lanes are handled in one transaction, each number in its order', async () => {
  const [one, other] = await connectNumbers(2)
  await accept(bodyOf(one!.number, 'a1'), bodyOf(other!.number, 'a2'), bodyOf(one!.number, 'a3'))
  expect(await handleLanes(deps, [one!.lane, other!.lane])).toBe(3)
  expect(await wamids('a')).toEqual(['a1', 'a2', 'a3'])
  const written = await db`select distinct xmin::text from messages where wamid like 'a%'`
  expect(written).toHaveLength(1)
  expect(await listBusyLanes(db, LANES, 10)).toEqual([])
})

test('a lane that another worker has is left to it, the others are handled', async () => {
  const [held, free] = await connectNumbers(2)
  await accept(bodyOf(held!.number, 'b1'), bodyOf(free!.number, 'b2'))
  const lanes = [held!.lane, free!.lane]
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const copyMedia = async () => {
    begun.resolve()
    await mayEnd.promise
    return () => {}
  }
  const other = handleLanes({ ...deps, copyMedia }, [held!.lane])
  await begun.promise
  expect(await handleLanes(deps, lanes)).toBe(1)
  expect(await wamids('b')).toEqual(['b2'])
  mayEnd.resolve()
  expect(await other).toBe(1)
  expect(await handleLanes(deps, lanes)).toBe(0)
  expect(await wamids('b')).toEqual(['b1', 'b2'])
})

test('an item that the database refuses fails alone among the lanes of its transaction', async () => {
  const [one, other] = await connectNumbers(2)
  await db`alter table messages add constraint refused check (text <> 'refuse me')`
  await accept(
    bodyOf(one!.number, 'c1'),
    bodyOf(other!.number, 'c2', 'refuse me'),
    bodyOf(one!.number, 'c3'),
    bodyOf(other!.number, 'c4'),
  )
  expect(await handleLanes(deps, [one!.lane, other!.lane])).toBe(4)
  expect(await wamids('c')).toEqual(['c1', 'c3', 'c4'])
  const aside = await db<{ state: string; body: Buffer }[]>`select state, body from inbound_items`
  expect(aside.map(({ state, body }) => [state, String(body).includes('c2')])).toEqual([['failed', true]])
  await db`alter table messages drop constraint refused`
})

test('busy lanes are listed by their oldest event, counted up to the limit', async () => {
  const [one, other] = await connectNumbers(2)
  await accept(...['d1', 'd2', 'd3'].map((wamid) => bodyOf(one!.number, wamid)), bodyOf(other!.number, 'd4'))
  expect(await listBusyLanes(db, LANES, 2)).toEqual([
    { lane: one!.lane, waiting: 2 },
    { lane: other!.lane, waiting: 1 },
  ])
})
