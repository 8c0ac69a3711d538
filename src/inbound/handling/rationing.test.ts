import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { handlingDeps } from '../../../test/inbound-fixture.ts'
import { connectNumber } from '../../../test/world.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { UNPROVEN } from '../event-store.ts'
import { acceptBodies, eventLaneOf } from '../ingest/accept.ts'
import { createBodyTasks } from './body-thread.ts'
import { type HandleEventsDeps, handleLanes } from './handle-events.ts'
import { type InboundWorker, startInboundWorker } from './inbound-worker.ts'

/** Items are rationed: a backlog delays other numbers by one transaction, whatever the bodies contain. */
let db: TestDatabase['db']
let deps: HandleEventsDeps
let worker: InboundWorker | undefined
/** Runs in each transaction before the commit. */
let beforeCommit: () => Promise<void>
/** One gate per transaction waiting to commit, in order. */
const gates: PromiseWithResolvers<void>[] = []
beforeAll(async () => {
  db = (await createTestDatabase({ mirrors: true })).db
})
beforeEach(async () => {
  await db`truncate inbound_events`
  beforeCommit = async () => {}
  deps = handlingDeps(db, {
    forward: async () => {
      await beforeCommit()
      return () => {}
    },
  })
})
afterEach(() => {
  beforeCommit = async () => {}
  for (const gate of gates.splice(0)) gate.resolve()
  return worker?.stop()
})

let wamids = 0
const bodyOf = (number: string, items: number, text = 'x') =>
  Buffer.from(
    JSON.stringify({
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                metadata: { phone_number_id: number },
                messages: Array.from({ length: items }, (_, n) => {
                  wamids += 1
                  return {
                    from: `39333${n}`,
                    id: `r${wamids}`,
                    timestamp: '1760000000',
                    type: 'text',
                    text: { body: text },
                  }
                }),
              },
            },
          ],
        },
      ],
    }),
  )
const accept = (...bodies: Buffer[]) =>
  acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
const countOf = async (number: string) => {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count
    from messages
    join sender_routes route on route.company_id = messages.company_id and route.phone_number_id = ${number}
  `
  return row!.count
}

/** Connects numbers from different companies, in one lane or in separate ones. */
async function connectNumbers(count: number, areInOneLane: boolean): Promise<[string, ...string[]]> {
  const byLane = new Map<number, string[]>()
  for (;;) {
    const number = await connectNumber(db)
    byLane.set(eventLaneOf(number), [...(byLane.get(eventLaneOf(number)) ?? []), number])
    const found = areInOneLane ? byLane.get(eventLaneOf(number)) : [...byLane.values()].flatMap(([one]) => one ?? [])
    const [first, ...others] = found ?? []
    if (first !== undefined && others.length === count - 1) return [first, ...others]
  }
}

test.each([
  ['of another lane', false],
  ['of the same lane', true],
])('a body with 1,000 messages leaves room for a message %s in the first transaction', async (_where, areInOneLane) => {
  const [busy, other] = await connectNumbers(2, areInOneLane)
  await accept(bodyOf(busy, 1_000), bodyOf(other!, 1))
  await handleLanes(deps, [...new Set([busy, other!].map(eventLaneOf))])
  expect(await countOf(other!)).toBe(1)
  expect(await countOf(busy)).toBe(50)
})

test('a lane with a large body rests after each of its transactions, and no other does', async () => {
  const [busy, other] = await connectNumbers(2, false)
  await accept(bodyOf(busy, 120), bodyOf(other!, 1))
  worker = startInboundWorker({ ...deps, onFailure: () => {}, restMs: () => Number.POSITIVE_INFINITY })
  await expect.poll(() => countOf(other!)).toBe(1)
  await expect.poll(() => countOf(busy)).toBe(50)
  await accept(bodyOf(other!, 1))
  worker.wake()
  await expect.poll(() => countOf(other!)).toBe(2)
  expect(await countOf(busy)).toBe(50)
})

test('200 earlier messages, and a body of 4 MiB, leave room for a message of another number', async () => {
  const [busy, other] = await connectNumbers(2, false)
  await accept(bodyOf(busy, 1, 'x'.repeat(4 * 1024 * 1024 - 1_000)))
  await accept(...Array.from({ length: 250 }, () => bodyOf(busy, 1)), bodyOf(other!, 1))
  await handleLanes(deps, [busy, other!].map(eventLaneOf))
  expect(await countOf(other!)).toBe(1)
})

test('all items of several numbers are handled in order, each once, however they are split', async () => {
  const numbers = await connectNumbers(3, true)
  await accept(
    bodyOf(numbers[0], 130, 'slice a'),
    bodyOf(numbers[1]!, 7),
    bodyOf(numbers[0], 90, 'slice b'),
    bodyOf(numbers[2]!, 210),
  )
  while ((await handleLanes(deps, [eventLaneOf(numbers[0])])).handled > 0);
  expect(await Promise.all(numbers.map(countOf))).toEqual([220, 7, 210])
  const texts = await db<{ text: string }[]>`
    select text from messages where company_id > 0 and text in ('slice a', 'slice b') order by id
  `
  expect(texts.map(({ text }) => text.at(-1)).join('')).toBe('a'.repeat(130) + 'b'.repeat(90))
})

test('a message is handled while the transaction of a busy number is still open', async () => {
  const [busy, other] = await connectNumbers(2, false)
  const isOpen = Promise.withResolvers<void>()
  beforeCommit = async () => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    beforeCommit = async () => {}
    isOpen.resolve()
    await gate.promise
  }
  await accept(bodyOf(busy, 1_000))
  worker = startInboundWorker({ ...deps, onFailure: () => {} })
  await isOpen.promise
  await accept(bodyOf(other!, 1))
  worker.wake()
  await expect.poll(() => countOf(other!)).toBe(1)
  expect(await countOf(busy)).toBe(0)
})

test('a message waits for one transaction when others have all workers busy', async () => {
  const [first, second, third, other] = await connectNumbers(4, false)
  const busy = [first, second!, third!]
  const areOpen = Promise.withResolvers<void>()
  beforeCommit = async () => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    if (gates.length === 3) areOpen.resolve()
    await gate.promise
  }
  // Each number has enough events for its own transaction.
  for (const number of busy) await accept(...Array.from({ length: 200 }, () => bodyOf(number, 20)))
  worker = startInboundWorker({ ...deps, onFailure: () => {} })
  await areOpen.promise
  await accept(bodyOf(other!, 1))
  worker.wake()
  gates[0]!.resolve()
  // The next transaction must be the message's, held only by its own gate.
  await expect.poll(() => gates.length).toBe(4)
  gates[3]!.resolve()
  await expect.poll(() => countOf(other!)).toBe(1)
  // Shares a transaction with the next items from the number just handled.
  expect((await Promise.all(busy.map(countOf))).sort()).toEqual([0, 0, 399])
}, 60_000)

test('the items of a large body are parsed once, however many slices they are handled in', () => {
  let parsed = 0
  const parse = (raw: Buffer | string) => {
    parsed += 1
    return eventReader.parse(raw)
  }
  const tasks = createBodyTasks({ ...eventReader, parse })
  for (const done of [0, 50, 100]) {
    const task = { eventId: 7, raw: bodyOf('n', 300), part: { part: 'n', others: [], done }, room: 50 }
    expect(tasks.open(task)).toMatchObject({ taken: { length: 50 }, next: done + 50 })
  }
  expect(parsed).toBe(1)
})
