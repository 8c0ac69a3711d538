const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
/** Restarts of all workers together, in any minute. */
export const MAX_RESTARTS_PER_MINUTE = 10
const MINUTE_MS = 60_000

/**
 * Milliseconds to wait before a worker that ended is started again: 100 ms, doubled by each restart of the last minute, up
 * to 10 s; after 10 restarts in a minute, until the first of them is a minute ago. `restartsAtMs` are the times of the
 * earlier restarts, in ascending order.
 */
export function restartDelayMs(restartsAtMs: readonly number[], nowMs: number): number {
  const recent = restartsAtMs.filter((atMs) => atMs > nowMs - MINUTE_MS)
  const backoffMs = Math.min(FIRST_DELAY_MS * 2 ** recent.length, MAX_DELAY_MS)
  const oldestMs = recent.at(-MAX_RESTARTS_PER_MINUTE)
  return oldestMs === undefined ? backoffMs : Math.max(backoffMs, oldestMs + MINUTE_MS - nowMs)
}
