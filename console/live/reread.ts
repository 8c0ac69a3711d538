/** The longest wait before the first call, the first wait between two calls, and the longest. */
const SPREAD_MS = 500
const FIRST_MS = 1_000
const MAX_MS = 15_000

/**
 * Calls `act` when it is asked to: soon after a quiet time, then after waits that double, so that many pages of a busy
 * company do not read everything again and again. Each wait has a random part, so that pages do not read all at once.
 */
export function createReread(act: () => unknown): () => void {
  let waitMs = 0
  let actedAtMs = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = () => {
    timer = undefined
    actedAtMs = performance.now()
    waitMs = Math.min(Math.max(waitMs * 2, FIRST_MS), MAX_MS)
    act()
  }
  return () => {
    if (timer !== undefined) return
    const sinceMs = performance.now() - actedAtMs
    if (sinceMs > MAX_MS * 2) waitMs = 0
    const afterMs = waitMs === 0 ? SPREAD_MS * Math.random() : waitMs * (1 + Math.random() / 2) - sinceMs
    timer = setTimeout(run, Math.max(0, afterMs))
  }
}
