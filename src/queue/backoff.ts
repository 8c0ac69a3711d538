export type Backoff = {
  baseMs: number
  factor: number
  capMs: number
  /** Maximum share of the wait added at random, so that joint failures do not return together. */
  jitter: number
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 1_000, factor: 2, capMs: 5 * 60_000, jitter: 0.1 }

/** Returns the wait in milliseconds after the given failure, counted from 1; `random` is from 0 to 1. */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const wait = Math.min(backoff.baseMs * backoff.factor ** (failures - 1), backoff.capMs)
  return Math.round(wait * (1 + backoff.jitter * random))
}
