import { monotonicMs } from '../clock.ts'

export const METRICS_SPACING_MS = 1_000

/** Shares one computation and its result among all readers until the next can begin. */
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
