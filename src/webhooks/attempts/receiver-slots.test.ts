import { expect, it } from 'vitest'
import { createReceiverSlots, type Slot } from './receivers.ts'

function take(slots: ReturnType<typeof createReceiverSlots>, id: string, count: number) {
  const taken: Slot[] = []
  let sentAway = 0
  for (let i = 0; i < count; i += 1) {
    void slots.take(id).then((slot) => {
      if (slot) taken.push(slot)
      else sentAway += 1
    })
  }
  return { taken, sentAway: () => sentAway }
}
const GOOD = { succeeded: true, durationMs: 5 }
const SLOW = { succeeded: true, durationMs: 2_000 }
const BAD = { succeeded: false, durationMs: 5 }
const flush = () => new Promise<void>((resolve) => setImmediate(resolve))

async function attempt(slots: ReturnType<typeof createReceiverSlots>, id: string, count: number, how: typeof GOOD) {
  for (let n = 0; n < count; n += 1) (await slots.take(id))?.end(how)
}

it('has 64 slots at each receiver, whether its attempts succeed or fail; the next one starts when one ends', async () => {
  const slots = createReceiverSlots()
  const { taken } = take(slots, '1', 80)
  const other = take(slots, '2', 3)
  await flush()
  expect([taken.length, other.taken.length]).toEqual([64, 3])
  for (const [ended, how] of [undefined, BAD, SLOW, GOOD].entries()) {
    taken[ended]?.end(how)
    await flush()
    expect(taken).toHaveLength(65 + ended)
  }
})

it('starts nothing while the bodies in flight have 8 MiB', async () => {
  const slots = createReceiverSlots()
  const { taken } = take(slots, '1', 2)
  await flush()
  for (const slot of taken) slot.hold(4 * 1024 * 1024)
  const next = take(slots, '1', 1)
  await flush()
  expect(next.taken).toHaveLength(0)
  taken[0]?.end(GOOD)
  await flush()
  expect(next.taken).toHaveLength(1)
})

it('names a receiver as quick after 20 quick successes, until it fails or is slow', async () => {
  const slots = createReceiverSlots()
  await attempt(slots, '1', 19, GOOD)
  await attempt(slots, '2', 100, SLOW)
  expect(slots.quick()).toEqual(new Set())
  await attempt(slots, '1', 1, GOOD)
  expect(slots.quick()).toEqual(new Set(['1']))
  await attempt(slots, '1', 1, SLOW)
  expect(slots.quick()).toEqual(new Set())
  await attempt(slots, '1', 100, GOOD)
  await attempt(slots, '1', 1, BAD)
  expect(slots.quick()).toEqual(new Set(['1']))
  await attempt(slots, '1', 1, BAD)
  expect(slots.quick()).toEqual(new Set())
})

it('gives back what waits when a quick receiver is quick no longer', async () => {
  const slots = createReceiverSlots()
  await attempt(slots, '1', 20, GOOD)
  const { taken, sentAway } = take(slots, '1', 100)
  await flush()
  expect([taken.length, sentAway()]).toEqual([64, 0])
  taken[0]?.end(BAD)
  await flush()
  expect([taken.length, sentAway()]).toEqual([64, 36])
})

it('gives back what waits and what comes once it is closed; attempts that have started may end', async () => {
  const slots = createReceiverSlots()
  const { taken, sentAway } = take(slots, '1', 100)
  await flush()
  slots.close()
  await flush()
  expect([taken.length, sentAway()]).toEqual([64, 36])
  taken[0]?.end(GOOD)
  expect(await slots.take('1')).toBeUndefined()
})
