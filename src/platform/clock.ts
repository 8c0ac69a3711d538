/** The only source of time, which is passed to everything that depends on it. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

/** A clock that is moved by hand: for tests and simulations. */
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
