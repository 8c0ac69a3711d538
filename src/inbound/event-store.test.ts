import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { claimEvents, finishEvents, requeueOldest, storeEvents, UNPROVEN } from './event-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
const MANY = { limit: 100, bytes: 1_000_000 }

beforeEach(async () => {
  await db`truncate inbound_events`
})

const store = (...events: [lane: number, body: string][]) =>
  storeEvents(
    db,
    events.map(([lane, body]) => ({
      lane,
      part: '',
      others: [],
      body: Buffer.from(body),
      receivedAt: null,
      proof: UNPROVEN,
      address: null,
    })),
  )
const take = (lanes: number[], most = MANY) =>
  db.begin(async (tx) => {
    const events = await claimEvents(tx, lanes, most)
    await finishEvents(tx, events, [])
    return events.map(({ body }) => String(body))
  })
const left = async () => (await db`select from inbound_events`).length

test('events are taken once, the oldest of those lanes first', async () => {
  await store([1, 'a'], [2, 'b'], [1, 'c'], [3, 'd'])
  expect(await take([2, 1], { ...MANY, limit: 2 })).toEqual(['a', 'b'])
  expect(await take([1, 2])).toEqual(['c'])
  expect(await take([1, 2])).toEqual([])
  expect(await left()).toBe(1)
})

test('no more are taken once their bodies have so many bytes, but one at least', async () => {
  await store([1, 'aaaa'], [2, 'bbbb'], [1, 'cccc'])
  expect(await take([1, 2], { ...MANY, bytes: 5 })).toEqual(['aaaa', 'bbbb'])
  expect(await take([1, 2], { ...MANY, bytes: 1 })).toEqual(['cccc'])
})

test('a body that is remembered is not read, unless it is of another event', async () => {
  const [remembered, other] = await store([1, 'a'], [1, 'b'])
  const known = new Map([
    [remembered!, Buffer.from('A')],
    [other!, Buffer.from('of an earlier event with this id')],
  ])
  const events = await db.begin((tx) => claimEvents(tx, [1], MANY, known))
  expect(events.map((event) => [event.id, String(event.body)])).toEqual([
    [remembered, 'A'],
    [other, 'b'],
  ])
})

test('claimed events come back when the transaction fails, and no other worker claims the lane meanwhile', async () => {
  await store([1, 'a'], [2, 'b'])
  const failing = db.begin(async (tx) => {
    expect(await claimEvents(tx, [1], MANY)).toHaveLength(1)
    expect(await take([1, 2])).toEqual(['b'])
    throw new Error('stopped')
  })
  await expect(failing).rejects.toThrow('stopped')
  expect(await take([1, 2])).toEqual(['a'])
})

test('of an event whose items are handled in part, the rest is left, perhaps in another lane', async () => {
  await store([1, 'a'], [1, 'b'], [1, 'c'])
  await db.begin(async (tx) => {
    const [a, b, c] = await claimEvents(tx, [1], MANY)
    await finishEvents(tx, [a!, b!, c!], [{ ...a!, done: 7 }, b!, { ...a!, done: 5, lane: 2 }])
  })
  const rows = await db`select lane, done, convert_from(body, 'UTF8') as text from inbound_events order by id`
  expect(rows).toEqual([
    { lane: 2, done: 5, text: 'a' },
    { lane: 1, done: 0, text: 'b' },
  ])
})

test('the oldest event goes behind the others, unless another worker has its lane', async () => {
  await store([1, 'a'], [1, 'b'])
  await db.begin(async (tx) => {
    await claimEvents(tx, [1], MANY)
    await requeueOldest(db, 1)
  })
  await requeueOldest(db, 1)
  expect(await take([1], { ...MANY, limit: 1 })).toEqual(['b'])
  expect(await take([1])).toEqual(['a'])
})
