import { describe, expect, it } from 'vitest'
import { createReceiverTurns, type Turn } from './receiver-turns.ts'

/** Takes turns and says how many have come. */
function take(turns: ReturnType<typeof createReceiverTurns>, id: number, count: number) {
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
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('turns at a receiver', () => {
  it('are 20 at once, the next when one ends, and each receiver has its own', async () => {
    const turns = createReceiverTurns()
    const { taken } = take(turns, 1, 50)
    const other = take(turns, 2, 5)
    await settle()
    expect([taken.length, other.taken.length]).toEqual([20, 5])
    taken[0]?.end(SLOW)
    taken[1]?.end(undefined)
    await settle()
    expect(taken).toHaveLength(22)
  })

  it('grow by one with each quick success to 64 at most, and are halved by a failure', async () => {
    const turns = createReceiverTurns()
    const { taken } = take(turns, 1, 500)
    await settle()
    let ended = 0
    /** Ends the oldest turns, one after the other; answers how many are in flight then. */
    const end = async (count: number, how: typeof GOOD) => {
      for (let n = 0; n < count; n += 1) {
        taken[ended]?.end(how)
        ended += 1
        await settle()
      }
      return taken.length - ended
    }
    expect(await end(10, GOOD)).toBe(30)
    expect(await end(100, GOOD)).toBe(64)
    expect(await end(10, SLOW)).toBe(64)
    expect(await end(1, BAD)).toBe(63)
    expect(await end(31, SLOW)).toBe(32)
    expect(await end(1, SLOW)).toBe(32)
    expect(await end(3, BAD)).toBe(29)
    expect(await end(9, SLOW)).toBe(20)
    expect(await end(5, SLOW)).toBe(20)
  })

  it('are one at a time after ten failures in a row, until one succeeds', async () => {
    const turns = createReceiverTurns()
    const { taken } = take(turns, 1, 60)
    await settle()
    for (const turn of taken.slice(0, 20)) turn.end(BAD)
    await settle()
    // The first nine failures each let another in.
    expect(taken).toHaveLength(29)
    for (const turn of taken.slice(20)) turn.end(BAD)
    await settle()
    expect(taken).toHaveLength(30)
    taken[29]?.end(BAD)
    await settle()
    expect(taken).toHaveLength(31)
    taken[30]?.end(GOOD)
    await settle()
    expect(taken).toHaveLength(52)
  })

  it('remember the dead while nobody calls', async () => {
    const turns = createReceiverTurns()
    for (let failure = 0; failure < 10; failure += 1) (await turns.take(1))?.end(BAD)
    const { taken } = take(turns, 1, 5)
    await settle()
    expect(taken).toHaveLength(1)
  })

  it('are no more once closed: who waits is sent away, who has begun may end', async () => {
    const turns = createReceiverTurns()
    const { taken, sentAway } = take(turns, 1, 25)
    await settle()
    turns.close()
    await settle()
    expect([taken.length, sentAway()]).toEqual([20, 5])
    taken[0]?.end(GOOD)
    expect(await turns.take(1)).toBeUndefined()
  })
})
