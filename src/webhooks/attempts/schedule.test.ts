import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deadLetterMessage, MAX_ATTEMPTS, nextAttemptAt } from './schedule.ts'

const now = new Date('2026-01-01T00:00:00Z')
const failed = { statusCode: 500, retryAfterSeconds: null }
const wait = (next: Date | 'dead') => (next === 'dead' ? Number.NaN : next.getTime() - now.getTime())

describe('the schedule', () => {
  it('waits 5, 10, 20 and 40 s and gives up after 5 attempts', () => {
    const waits = [1, 2, 3, 4].map((attempt) => wait(nextAttemptAt(now, attempt, failed, () => 0)))
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000])
    expect(nextAttemptAt(now, MAX_ATTEMPTS, failed, () => 0)).toBe('dead')
  })

  it('adds at most 10 %', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (attempt, random) => {
          const base = 5_000 * 2 ** (attempt - 1)
          const ms = wait(nextAttemptAt(now, attempt, failed, () => random))
          expect(ms).toBeGreaterThanOrEqual(base)
          expect(ms).toBeLessThanOrEqual(base * 1.1)
        },
      ),
    )
  })

  it('lets Retry-After lengthen a wait up to 5 minutes, on 429 and 503 only, and never shorten it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(429, 503, 500, 404, null),
        fc.option(fc.integer({ min: 0, max: 10_000_000_000 })),
        (attempt, statusCode, retryAfterSeconds) => {
          const plain = wait(nextAttemptAt(now, attempt, failed, () => 0.5))
          const ms = wait(nextAttemptAt(now, attempt, { statusCode, retryAfterSeconds }, () => 0.5))
          const isHonoured = retryAfterSeconds !== null && (statusCode === 429 || statusCode === 503)
          expect(ms).toBe(isHonoured ? Math.max(plain, Math.min(retryAfterSeconds * 1000, 300_000)) : plain)
        },
      ),
    )
  })

  it('does not let Retry-After grant a sixth attempt', () => {
    expect(nextAttemptAt(now, 5, { statusCode: 429, retryAfterSeconds: 10 }, () => 0)).toBe('dead')
  })

  it('begins the last row of a dead letter with the fixed message', () => {
    expect(deadLetterMessage('the receiver answered 500')).toBe(
      'dead-lettered after 5 attempts: the receiver answered 500',
    )
  })
})
