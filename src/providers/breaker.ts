import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
} from 'cockatiel'
import { createCache } from '../platform/cache.ts'
import { recordKeyOf } from '../platform/ids.ts'
import type { ReceiptOutcome, SendOutcome } from './provider.ts'

const FAILURES_TO_OPEN = 10
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const MAX_SENDERS = 10_000

type SenderKey = { companyId: number; id: number }

export type Breaker = {
  /** Runs the attempt, or returns undefined while the sender's provider is down. */
  run<T extends { outcome: SendOutcome | ReceiptOutcome }>(
    sender: SenderKey,
    attempt: () => Promise<T>,
  ): Promise<T | undefined>
}

/** Creates per-sender breakers. Ten failures in a row open one; after 1 to 30 s a single send probes. */
export function createBreaker(): Breaker {
  const policies = createCache<string, CircuitBreakerPolicy>({ name: 'breakers', max: MAX_SENDERS })
  return {
    run: async (sender, attempt) => {
      try {
        return await policies.get(recordKeyOf(sender), createPolicy).execute(attempt)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return undefined
        throw error
      }
    },
  }
}

const createPolicy = (): CircuitBreakerPolicy =>
  circuitBreaker(
    handleWhenResult((result) => isFailure((result as { outcome: SendOutcome | ReceiptOutcome }).outcome)),
    {
      breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
      halfOpenAfter: new ExponentialBackoff({ initialDelay: FIRST_PAUSE_MS, maxDelay: LONGEST_PAUSE_MS }),
    },
  )

const isFailure = (outcome: SendOutcome | ReceiptOutcome): boolean =>
  outcome.kind === 'unreachable' ||
  outcome.kind === 'unknown' ||
  (outcome.kind === 'refused' && outcome.reason === 'unavailable')
