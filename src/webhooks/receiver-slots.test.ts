import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createReceiverSlots, type Slot } from './receiver-slots.ts'

/** Takes slots and says how many have come. */
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

describe('slots at a receiver', () => {
  /** Ends the oldest slots, one after the other; returns how many are in flight then. */
  const ender = (taken: Slot[]) => {
    let ended = 0
    return async (count: number, how: typeof GOOD) => {
      for (let n = 0; n < count; n += 1) {
        taken[ended]?.end(how)
        ended += 1
        await flush()
      }
      return taken.length - ended
    }
  }

  it('are 4 at once until it has answered, the next when one ends, and each receiver has its own', async () => {
    const slots = createReceiverSlots()
    const { taken } = take(slots, '1', 50)
    const other = take(slots, '2', 3)
    await flush()
    expect([taken.length, other.taken.length]).toEqual([4, 3])
    taken[0]?.end(undefined)
    await flush()
    expect(taken).toHaveLength(5)
  })

  it('double with each success to 20, grow by one with each quick success to 64, and are halved by a failure', async () => {
    const slots = createReceiverSlots()
    const { taken } = take(slots, '1', 1_000)
    await flush()
    const end = ender(taken)
    expect(await end(1, SLOW)).toBe(8)
    expect(await end(1, SLOW)).toBe(16)
    expect(await end(10, SLOW)).toBe(20)
    expect(slots.quick()).toEqual(new Set())
    expect(await end(1, GOOD)).toBe(21)
    expect(slots.quick()).toEqual(new Set(['1']))
    expect(await end(100, GOOD)).toBe(64)
    expect(await end(10, SLOW)).toBe(64)
    expect(await end(1, BAD)).toBe(63)
    expect(await end(31, SLOW)).toBe(32)
  })

  it('are one at a time after failures, until one succeeds; deliveries that waited when it began to fail are released', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const slots = createReceiverSlots()
    const first = take(slots, '1', 60)
    await flush()
    for (const slot of first.taken) slot.end(BAD)
    await flush()
    expect([first.taken.length, first.sentAway()]).toEqual([4, 56])

    const { taken, sentAway } = take(slots, '1', 20)
    /** Lets the pause after a failure pass; returns how many attempts have started in all. */
    const startedAfter = async (ms: number) => {
      vi.advanceTimersByTime(ms)
      await flush()
      return taken.length
    }
    expect(await startedAfter(200)).toBe(1)
    for (const [started, pauseMs] of [200, 200, 200, 200].entries()) {
      taken[started]?.end(BAD)
      expect(await startedAfter(pauseMs - 1)).toBe(started + 1)
      expect(await startedAfter(1)).toBe(started + 2)
    }
    taken[4]?.end(GOOD)
    expect(await startedAfter(0)).toBe(7)
    taken[5]?.end(GOOD)
    expect(await startedAfter(0)).toBe(10)
    expect(sentAway()).toBe(0)
  })

  it('remember the failing and the quick while nothing is sent to them', async () => {
    const slots = createReceiverSlots()
    for (const how of [BAD, BAD]) (await slots.take('1'))?.end(how)
    await new Promise((passed) => setTimeout(passed, 100))
    for (const how of [GOOD, GOOD, GOOD, GOOD]) (await slots.take('2'))?.end(how)
    const [failing, quick] = [take(slots, '1', 30), take(slots, '2', 30)]
    await flush()
    expect([failing.taken.length, quick.taken.length]).toEqual([1, 21])
    expect(slots.quick()).toEqual(new Set(['2']))
  })

  it('are no more once closed: deliveries that wait are released, attempts that have started may end', async () => {
    const slots = createReceiverSlots()
    const { taken, sentAway } = take(slots, '1', 25)
    await flush()
    slots.close()
    await flush()
    expect([taken.length, sentAway()]).toEqual([4, 21])
    taken[0]?.end(GOOD)
    expect(await slots.take('1')).toBeUndefined()
  })
})
