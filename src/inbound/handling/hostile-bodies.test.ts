import fc from 'fast-check'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { handlingDeps } from '../../../test/inbound-fixture.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { connectNumber } from '../../../test/world.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { isIsolated, isolatedLane, UNPROVEN } from '../event-store.ts'
import { acceptBodies, eventLaneOf } from '../ingest/accept.ts'
import { type HandleEventsDeps, handleApart, handleLanes } from './handle-events.ts'
import { startInboundWorker } from './inbound-worker.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

let db: TestDatabase['db']
let deps: HandleEventsDeps
let unhandled: (readonly Unhandled[])[] = []
beforeAll(async () => {
  db = (await createTestDatabase()).db
  deps = handlingDeps(db, { onUnhandled: (items) => unhandled.push(items) })
  // Sequences never roll back, so this counts failed attempts too.
  await db`create sequence attempts`
  await db`
    create function count_attempt() returns trigger language plpgsql as
    $$ begin perform nextval('attempts'); return null; end $$
  `
  await db`create trigger attempt before insert on messages for each statement execute function count_attempt()`
  await db`alter table messages add constraint refused check (text not like 'refuse me%')`
})
beforeEach(async () => {
  await db`truncate inbound_events, inbound_items`
  await db`alter sequence attempts restart`
  unhandled = []
})
afterEach(async () => {
  await db`alter table inbound_items drop constraint if exists cursed`
})

let lastWamid = 0
const newWamid = () => {
  lastWamid += 1
  return `wamid.${lastWamid}`
}
const textMessage = (text: string, wamid = newWamid()) => ({
  from: '393331',
  id: wamid,
  type: 'text',
  text: { body: text },
})
const bodyOf = (number: string, ...messages: object[]) =>
  JSON.stringify({
    entry: [{ changes: [{ field: 'messages', value: { metadata: { phone_number_id: number }, messages } }] }],
  })
const accept = (...bodies: string[]) =>
  acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body: Buffer.from(body), receivedAt: null, proof: UNPROVEN, address: null })),
  )
/** Items that Postgres rejects, 4 kB each. */
const badBody = (number: string, count = 950) =>
  bodyOf(number, ...Array.from({ length: count }, () => textMessage(`refuse me ${'x'.repeat(4_000)}`)))

const isHandled = async (wamid: string) => (await db`select from messages where wamid = ${wamid}`).length > 0
const attempts = async () => (await db`select last_value from attempts`)[0]!.lastValue as number
const leftIn = async () =>
  (await db<{ lane: number }[]>`select distinct lane from inbound_events`).map(({ lane }) => lane)

/** Runs until nothing is left, like the worker. */
async function handleAll(): Promise<void> {
  for (let lanes = await leftIn(); lanes.length > 0; lanes = await leftIn()) {
    const { failing } = await handleLanes(
      deps,
      lanes.filter((lane) => !isIsolated(lane)),
    )
    for (const lane of [...failing, ...lanes.filter(isIsolated)]) await handleApart(deps, lane)
  }
}

/** Returns the wamids kept as failed, and the row count. */
async function failedItems(): Promise<{ rows: number; wamids: string[] }> {
  const rows = await db<{ body: Buffer }[]>`select body from inbound_items where state = 'failed' order by id`
  const wamids = rows.flatMap(({ body }) =>
    JSON.parse(String(body)).entry[0].changes[0].value.messages.map(({ id }: { id: string }) => id),
  )
  return { rows: rows.length, wamids }
}

/** Connects two numbers in one lane or two. */
async function connectTwo(areInOneLane: boolean): Promise<[string, string]> {
  const one = await connectNumber(db)
  let other = await connectNumber(db)
  while ((eventLaneOf(one) === eventLaneOf(other)) !== areInOneLane) other = await connectNumber(db)
  return [one, other]
}

async function connectOutside(lane: number): Promise<string> {
  const number = await connectNumber(db)
  return eventLaneOf(number) === lane ? connectOutside(lane) : number
}

describe('950 items that fail, in one body', () => {
  test('delay a message of another lane by one failed attempt for all lanes and one for each', async () => {
    const [bad, good] = await connectTwo(false)
    const wamid = newWamid()
    await accept(badBody(bad), bodyOf(good, textMessage('Hello', wamid)))
    const { failing } = await handleLanes(deps, [eventLaneOf(bad), eventLaneOf(good)])
    expect(await isHandled(wamid)).toBe(true)
    expect(await attempts()).toBeLessThanOrEqual(3)
    expect(failing).toEqual([eventLaneOf(bad)])
  })

  test('delay a message of another number in the same lane by a bounded number of attempts', async () => {
    const [bad, good] = await connectTwo(true)
    const wamid = newWamid()
    await accept(badBody(bad), bodyOf(good, textMessage('Hello', wamid)))
    const lane = eventLaneOf(bad)
    expect((await handleLanes(deps, [lane])).failing).toEqual([lane])
    await handleApart(deps, lane)
    await handleLanes(deps, [lane])
    expect(await isHandled(wamid)).toBe(true)
    expect(await attempts()).toBeLessThanOrEqual(50)
    expect(await leftIn()).toEqual([isolatedLane(lane)])
  })

  test('are all kept as failed, the first hundred by themselves, in transactions of bounded size', async () => {
    const number = await connectNumber(db)
    const body = badBody(number, 300)
    await accept(body)
    await handleAll()
    const { rows, wamids } = await failedItems()
    expect(wamids.sort()).toEqual([...body.matchAll(/"id":"([^"]*)"/g)].map(([, wamid]) => wamid).sort())
    expect(rows).toBeGreaterThanOrEqual(100)
    expect(rows).toBeLessThan(120)
    expect(Math.max(...unhandled.map((items) => items.length))).toBeLessThanOrEqual(40)
  }, 300_000)

  test('delay others little while the worker runs', async () => {
    const numbers = [...(await connectTwo(true)), await connectNumber(db)]
    const wamids = numbers.map(newWamid)
    await accept(badBody(numbers[0]!), ...numbers.map((number, n) => bodyOf(number, textMessage('Hello', wamids[n]))))
    const worker = startInboundWorker({ ...deps, onFailure: () => {} })
    for (const wamid of wamids) await expect.poll(() => isHandled(wamid)).toBe(true)
    expect((await failedItems()).wamids.length).toBeLessThan(950)
    await worker.stop()
  }, 300_000)
})

describe('an item that cannot be written', () => {
  const unknown = (text: string) => bodyOf('unknown', textMessage(text))

  test('with its ids is kept without them', async () => {
    await db`alter table inbound_items add constraint cursed check (phone_number_id <> 'unknown')`
    await accept(unknown('one'), unknown('two'))
    await handleAll()
    const rows = await db`select state, reason, phone_number_id from inbound_items`
    const row = { state: 'unroutable', reason: 'it could not be kept with its ids', phoneNumberId: null }
    expect(rows).toEqual([row, row])
  })

  test('at all is retried alone, at the end of its lane, while the others go on', async () => {
    await db`alter table inbound_items add constraint cursed check (position('cursed' in convert_from(body, 'utf8')) = 0)`
    const lane = eventLaneOf('unknown')
    const good = await connectOutside(lane)
    const wamid = newWamid()
    await accept(unknown('cursed'), unknown('fine'), bodyOf(good, textMessage('Hello', wamid)))
    const { failing } = await handleLanes(deps, [lane, eventLaneOf(good)])
    expect(failing).toEqual([lane])
    await handleApart(deps, lane)
    expect(await leftIn()).toEqual([isolatedLane(lane)])
    await expect(handleApart(deps, isolatedLane(lane))).rejects.toThrow('cursed')
    await handleApart(deps, isolatedLane(lane))
    await expect(handleApart(deps, isolatedLane(lane))).rejects.toThrow('cursed')
    const stored = await db<{ body: Buffer }[]>`select body from inbound_items`
    expect(stored.map(({ body }) => String(body).includes('fine'))).toEqual([true])
    await db`alter table inbound_items drop constraint cursed`
    await handleAll()
    expect(await db`select from inbound_items`).toHaveLength(2)
    expect(await isHandled(wamid)).toBe(true)
  })
})

test('items that are unreadable between items that fail are kept once', async () => {
  const number = await connectNumber(db)
  const pairs = Array.from({ length: 150 }, () => [textMessage('refuse me'), { id: 'x'.repeat(600) }]).flat()
  await accept(bodyOf(number, ...pairs))
  await handleAll()
  const rows = await db<{ body: Buffer }[]>`select body from inbound_items where state = 'unreadable'`
  const stored = rows.flatMap(({ body }) => JSON.parse(String(body)).entry[0].changes[0].value.messages)
  expect([stored.length, (await failedItems()).wamids.length]).toEqual([150, 150])
}, 300_000)

test('an event with more items than one transaction takes is handled in several, in order, each item once', async () => {
  const number = await connectNumber(db)
  const texts = Array.from({ length: 1_200 }, (_, n) => `many ${n}`)
  await accept(bodyOf(number, ...texts.map((text) => textMessage(text))), bodyOf(number, textMessage('many last')))
  const lane = eventLaneOf(number)
  await handleLanes(deps, [lane])
  expect(await db`select from messages where text like 'many %'`).toHaveLength(50)
  await handleAll()
  const written = await db<{ text: string }[]>`select text from messages where text like 'many %' order by id`
  expect(written.map(({ text }) => text)).toEqual([...texts, 'many last'])
})

describe('whatever bodies arrive', () => {
  const random = (length: number) =>
    Array.from({ length }, (_, n) => ((n * 7919 + lastWamid) % 36).toString(36)).join('')
  /** Each builds a bad body for the same number as the good ones. */
  const HOSTILE: Record<string, (number: string) => string> = {
    'a number of 5,000 characters': () => bodyOf(random(5_000), textMessage('x')),
    'an account of 5,000 characters': () =>
      JSON.stringify({ entry: [{ id: random(5_000), changes: [{ field: 'template_category_update', value: {} }] }] }),
    'an app of 5,000 characters': () => JSON.stringify({ gs_app_id: random(5_000), type: 'template-event' }),
    'a wamid of 5,000 characters': (number) => bodyOf(number, textMessage('x', random(5_000))),
    'items that the database refuses': (number) => bodyOf(number, ...Array(60).fill(textMessage('refuse me'))),
    'an unknown number': () => bodyOf('nowhere', textMessage('x')),
    'no customer': (number) => bodyOf(number, { id: newWamid(), type: 'text', text: { body: 'x' } }),
    'zeros as statuses': () => `{"entry":[{"changes":[{"value":{"statuses":[${'0,'.repeat(40_000)}0]}}]}]}`,
    'great depth': (number) =>
      bodyOf(number, textMessage('x')).replace('"x"', `${'['.repeat(9_000)}${']'.repeat(9_000)}`),
    'NUL and lone surrogates': (number) => bodyOf(number, textMessage('\0 \ud800')),
    'a text of a million characters': (number) => bodyOf(number, textMessage('y'.repeat(1_000_000))),
    'no JSON': () => '{"phone_number_id":"1',
    'a name that objects inherit': (number) => bodyOf(number, { ...textMessage('x'), type: '__proto__' }),
  }

  test('every good item is handled, and nothing is left', async () => {
    const numbers = await connectTwo(true)
    const good = fc.record({ kind: fc.constant('good'), number: fc.constantFrom(...numbers) })
    const hostile = fc.record({ kind: fc.constantFrom(...Object.keys(HOSTILE)), number: fc.constantFrom(...numbers) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(good, hostile), { minLength: 2, maxLength: 12 }), async (bodies) => {
        const wamids: string[] = []
        for (const { kind, number } of bodies) {
          const wamid = newWamid()
          if (kind === 'good') wamids.push(wamid)
          await accept(HOSTILE[kind]?.(number) ?? bodyOf(number, textMessage('good', wamid), textMessage('refuse me')))
        }
        await handleAll()
        for (const wamid of wamids) expect(await isHandled(wamid)).toBe(true)
      }),
      { numRuns: propertyRuns(8) },
    )
  }, 300_000)
})
