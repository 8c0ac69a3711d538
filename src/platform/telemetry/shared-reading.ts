import { monotonicMs } from '../clock.ts'

/** Metrics are computed at most this often. */
export const METRICS_SPACING_MS = 1_000

/** Shares one computation among all readers, and its result until the next one may begin. */
export function sharedReading<T>(
  compute: () => Promise<T>,
  { spacingMs = METRICS_SPACING_MS, nowMs = monotonicMs } = {},
): () => Promise<T> {
  let reading: Promise<T> | undefined
  let isRunning = false
  let nextAtMs = 0
  return () => {
    if (reading !== undefined && (isRunning || nowMs() < nextAtMs)) return reading
    isRunning = true
    nextAtMs = nowMs() + spacingMs
    reading = compute().finally(() => {
      isRunning = false
    })
    return reading
  }
}
