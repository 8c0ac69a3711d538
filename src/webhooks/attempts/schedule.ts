import type { AttemptOutcome } from './post.ts'

export const MAX_ATTEMPTS = 5
const FIRST_WAIT_MS = 5_000
const MAX_JITTER = 0.1
const MAX_RETRY_AFTER_MS = 300_000

/** The part of an outcome that decides on the wait. */
export type FailedOutcome = Pick<AttemptOutcome, 'statusCode' | 'retryAfterSeconds'>

/**
 * When attempt number `attempt` (1 to 5), which has just failed, is followed by the next, or `dead` after the last
 * (spec: Retries and idempotency). Waits 5, 10, 20 and 40 s plus at most a tenth, so that receivers that fell over
 * together are not called together. `Retry-After` on 429 and 503 lengthens a wait up to 5 minutes and never shortens it.
 * `random` gives a number from 0 up to but not including 1.
 */
export function nextAttemptAt(now: Date, attempt: number, outcome: FailedOutcome, random: () => number): Date | 'dead' {
  if (attempt >= MAX_ATTEMPTS) return 'dead'
  const wait = FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + MAX_JITTER * random())
  return new Date(now.getTime() + Math.round(Math.max(wait, demandedWait(outcome))))
}

function demandedWait({ statusCode, retryAfterSeconds }: FailedOutcome): number {
  if (retryAfterSeconds === null || (statusCode !== 429 && statusCode !== 503)) return 0
  return Math.min(retryAfterSeconds * 1000, MAX_RETRY_AFTER_MS)
}

/** The error of a delivery that did not finish before its deadline. */
export const expiredMessage = (hours: number): string =>
  `expired: not delivered within ${hours} ${hours === 1 ? 'hour' : 'hours'}`

/** The message of a dead letter's last log row. */
export const deadLetterMessage = (errorMessage: string | null): string =>
  `dead-lettered after ${MAX_ATTEMPTS} attempts: ${errorMessage ?? 'the last attempt failed'}`
