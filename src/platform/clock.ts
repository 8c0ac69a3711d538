import { setImmediate as nextTurn } from 'node:timers/promises'

export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

export function fixedClock(start: Date | string): Clock & { set(to: Date | string): void; advance(ms: number): void } {
  let current = new Date(start)
  return {
    now: () => new Date(current),
    set: (to) => {
      current = new Date(to)
    },
    advance: (ms) => {
      current = new Date(current.getTime() + ms)
    },
  }
}

/** Returns monotonic milliseconds, for durations. */
export const monotonicMs = (): number => performance.now()

/** Calls while the timer is set change nothing. Without `delayMs`, runs after this event loop turn. */
export function createTimer(work: () => void): (delayMs?: number) => void {
  let isSet = false
  const run = () => {
    isSet = false
    work()
  }
  return (delayMs) => {
    if (isSet) return
    isSet = true
    if (delayMs === undefined) setImmediate(run)
    else setTimeout(run, delayMs)
  }
}

/** About a millisecond for contacts of usual size. */
const STRETCH = 25

export async function mapInStretches<T, R>(items: readonly T[], map: (item: T, place: number) => R): Promise<R[]> {
  const mapped: R[] = []
  for (const [place, item] of items.entries()) {
    if (place > 0 && place % STRETCH === 0) await nextTurn()
    mapped.push(map(item, place))
  }
  return mapped
}
