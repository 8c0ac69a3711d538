import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createReceiverTurns, type Turn } from './receiver-turns.ts'

/** Takes turns and says how many have come. */
function take(turns: ReturnType<typeof createReceiverTurns>, id: string, count: number) {
  const taken: Turn[] = []
  let sentAway = 0
  for (let i = 0; i < count; i += 1) {
    void turns.take(id).then((turn) => {
      if (turn) taken.push(turn)
      else sentAway += 1
    })
  }
  return { taken, sentAway: () => sentAway }
}
const GOOD = { succeeded: true, durationMs: 5 }
const SLOW = { succeeded: true, durationMs: 2_000 }
const BAD = { succeeded: false, durationMs: 5 }
const flush = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('turns at a receiver', () => {
  /** Ends the oldest turns, one after the other; returns how many are in flight then. */
  const ender = (taken: Turn[]) => {
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
    const turns = createReceiverTurns()
    const { taken } = take(turns, '1', 50)
    const other = take(turns, '2', 3)
    await flush()
    expect([taken.length, other.taken.length]).toEqual([4, 3])
    taken[0]?.end(undefined)
    await flush()
    expect(taken).toHaveLength(5)
  })

  it('double with each success to 20, grow by one with each quick success to 64, and are halved by a failure', async () => {
    const turns = createReceiverTurns()
    const { taken } = take(turns, '1', 1_000)
    await flush()
    const end = ender(taken)
    expect(await end(1, SLOW)).toBe(8)
    expect(await end(1, SLOW)).toBe(16)
    expect(await end(10, SLOW)).toBe(20)
    expect(turns.isQuick('1')).toBe(false)
    expect(await end(1, GOOD)).toBe(21)
    expect(turns.isQuick('1')).toBe(true)
    expect(await end(100, GOOD)).toBe(64)
    expect(await end(10, SLOW)).toBe(64)
    expect(await end(1, BAD)).toBe(63)
    expect(await end(31, SLOW)).toBe(32)
  })

  it('are one at a time after failures, until one succeeds; what waited when it began to fail is given back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const turns = createReceiverTurns()
    const first = take(turns, '1', 60)
    await flush()
    for (const turn of first.taken) turn.end(BAD)
    await flush()
    expect([first.taken.length, first.sentAway()]).toEqual([4, 56])

    const { taken, sentAway } = take(turns, '1', 20)
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
    const turns = createReceiverTurns()
    for (const how of [BAD, BAD]) (await turns.take('1'))?.end(how)
    await new Promise((passed) => setTimeout(passed, 100))
    for (const how of [GOOD, GOOD, GOOD, GOOD]) (await turns.take('2'))?.end(how)
    const [failing, quick] = [take(turns, '1', 30), take(turns, '2', 30)]
    await flush()
    expect([failing.taken.length, quick.taken.length]).toEqual([1, 21])
    expect(['1', '2', '3'].map(turns.isQuick)).toEqual([false, true, false])
  })

  it('are no more once closed: what waits is given back, what has begun may end', async () => {
    const turns = createReceiverTurns()
    const { taken, sentAway } = take(turns, '1', 25)
    await flush()
    turns.close()
    await flush()
    expect([taken.length, sentAway()]).toEqual([4, 21])
    taken[0]?.end(GOOD)
    expect(await turns.take('1')).toBeUndefined()
  })
})
