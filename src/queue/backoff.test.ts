import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Backoff, backoffMs, DEFAULT_BACKOFF } from './job.ts'

const anyBackoff = fc.record({
  baseMs: fc.integer({ min: 1, max: 10_000 }),
  factor: fc.double({ min: 1, max: 5, noNaN: true }),
  capMs: fc.integer({ min: 10_000, max: 3_600_000 }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
})
const failures = fc.integer({ min: 1, max: 10_000 })
const random = fc.double({ min: 0, max: 1, noNaN: true })

test('the first wait is the base, and each next one grows by the factor', () => {
  const waits = [1, 2, 3, 4].map((count) => backoffMs(DEFAULT_BACKOFF, count, 0))
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000])
})

test('a wait is never shorter than the base nor longer than the cap and its jitter', () => {
  fc.assert(
    fc.property(anyBackoff, failures, random, (backoff, count, chance) => {
      const wait = backoffMs(backoff, count, chance)
      expect(wait).toBeGreaterThanOrEqual(backoff.baseMs)
      expect(wait).toBeLessThanOrEqual(Math.round(backoff.capMs * (1 + backoff.jitter)))
    }),
  )
})

test('a wait is never shorter than the one before', () => {
  fc.assert(
    fc.property(anyBackoff, failures, random, (backoff: Backoff, count, chance) => {
      expect(backoffMs(backoff, count + 1, chance)).toBeGreaterThanOrEqual(backoffMs(backoff, count, chance))
    }),
  )
})

test('the jitter only lengthens a wait, by at most its share', () => {
  fc.assert(
    fc.property(anyBackoff, failures, random, (backoff, count, chance) => {
      const plain = backoffMs(backoff, count, 0)
      const wait = backoffMs(backoff, count, chance)
      expect(wait).toBeGreaterThanOrEqual(plain)
      expect(wait).toBeLessThanOrEqual(Math.ceil((plain + 1) * (1 + backoff.jitter)))
    }),
  )
})
