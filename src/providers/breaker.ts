import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
} from 'cockatiel'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../platform/cache/cache-bound.ts'
import { recordKeyOf } from '../platform/ids.ts'
import type { ReceiptOutcome, SendOutcome } from './provider.ts'

const FAILURES_TO_OPEN = 10
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const MAX_SENDERS = 10_000

type SenderKey = { companyId: number; id: number }

export type Breaker = {
  /** Runs the attempt; `undefined`, and nothing run, while the sender's provider is down. */
  run<T extends { outcome: SendOutcome | ReceiptOutcome }>(
    sender: SenderKey,
    attempt: () => Promise<T>,
  ): Promise<T | undefined>
}

/**
 * A breaker per sender: ten failures in a row open it; after a pause, which grows from 1 to 30 s, one send at a time
 * tries whether the provider is back.
 */
export function createBreaker(): Breaker {
  const policies = new LRUCache<string, CircuitBreakerPolicy>(maxEntries(MAX_SENDERS))
  const policyOf = (sender: SenderKey): CircuitBreakerPolicy => {
    const key = recordKeyOf(sender)
    const policy = policies.get(key) ?? createPolicy()
    policies.set(key, policy)
    return policy
  }
  return {
    run: async (sender, attempt) => {
      try {
        return await policyOf(sender).execute(attempt)
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

/** Signs that the provider is down, as against refusing this one message. */
const isFailure = (outcome: SendOutcome | ReceiptOutcome): boolean =>
  outcome.kind === 'unreachable' ||
  outcome.kind === 'unknown' ||
  (outcome.kind === 'refused' && outcome.reason === 'unavailable')
