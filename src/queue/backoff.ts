export type Backoff = {
  /** Wait after the first failure. */
  baseMs: number
  factor: number
  /** No wait is longer than this before the jitter. */
  capMs: number
  /** At most this share of the wait is added at random, so that what failed together does not return together. */
  jitter: number
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 1_000, factor: 2, capMs: 5 * 60_000, jitter: 0.1 }

/** Milliseconds to wait after failure number `failures` (from 1 on); `random` is from 0 to 1. */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const wait = Math.min(backoff.baseMs * backoff.factor ** (failures - 1), backoff.capMs)
  return Math.round(wait * (1 + backoff.jitter * random))
}
