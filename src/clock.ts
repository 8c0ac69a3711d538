/** The only source of time: everything that needs to know the hour is handed one of these. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

/** A clock that stands still until it is told to move: for tests and simulations. */
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

/** Epoch milliseconds now, for measuring durations. */
export const monotonicMs = (): number => performance.now()
