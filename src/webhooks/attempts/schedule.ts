import type { AttemptOutcome } from './post.ts'

export const MAX_ATTEMPTS = 5
const FIRST_WAIT_MS = 5_000
const MAX_JITTER = 0.1
const MAX_RETRY_AFTER_MS = 300_000

type FailedOutcome = Pick<AttemptOutcome, 'statusCode' | 'retryAfterSeconds'>

/**
 * Returns the next attempt's time after failure 1 to 5, or `dead` (spec: Retries and idempotency). Waits 5, 10, 20 and 40 s,
 * plus up to 10 % jitter to spread receivers. `Retry-After` on 429 and 503 can lengthen a wait to 5 minutes.
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

export const expiredMessage = (hours: number): string =>
  `expired: not delivered within ${hours} ${hours === 1 ? 'hour' : 'hours'}`

export const deadLetterMessage = (errorMessage: string | null): string =>
  `dead-lettered after ${MAX_ATTEMPTS} attempts: ${errorMessage ?? 'the last attempt failed'}`
