import type { ParleyError } from './error.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 8_000
/** Timers that are longer fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Whether the same request can be sent again without taking effect twice. A POST carries an Idempotency-Key. A DELETE
 * that got no answer is not repeated: the repeat would answer 404 for what the first attempt deleted.
 */
export function isRepeatable(method: string, { code, status }: ParleyError): boolean {
  if (code === 'send_outcome_unknown') return false
  if (code === 'idempotency_key_in_use' || status === 429 || status === 503) return true
  const hasNoAnswer = code === 'network_error' || code === 'timeout' || status === 502 || status === 504
  return hasNoAnswer && method !== 'DELETE'
}

/** The wait before the next attempt: what the service asks for, else twice as long each time, with some chance. */
export function waitMs({ retryAfterSeconds }: ParleyError, attempt: number): number {
  const backOff = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2)
  return retryAfterSeconds === null ? backOff : Math.max(retryAfterSeconds * 1_000, backOff / 10)
}

/** Waits; rejects with the reason of the signal as soon as it is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(ms, LONGEST_TIMER_MS),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}
