import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createReread } from './reread.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('acts within half a second after a quiet time, and ever more rarely while it is asked all the time', () => {
  const acts: number[] = []
  const startedAt = performance.now()
  const reread = createReread(() => acts.push(performance.now() - startedAt))
  const askFor = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      reread()
      vi.advanceTimersByTime(100)
    }
  }
  reread()
  vi.advanceTimersByTime(500)
  expect(acts).toHaveLength(1)
  askFor(120_000)
  // At least 1, 2, 4 and 8 s, then 15 s apart; at most half longer.
  const waits = acts.slice(1).map((at, index) => at - acts[index]!)
  expect(waits.length).toBeGreaterThanOrEqual(8)
  for (const [index, wait] of waits.entries()) {
    const least = Math.min(1_000 * 2 ** index, 15_000)
    expect(wait).toBeGreaterThanOrEqual(least)
    expect(wait).toBeLessThanOrEqual(least * 1.5 + 100)
  }
  vi.advanceTimersByTime(60_000)
  const count = acts.length
  reread()
  vi.advanceTimersByTime(500)
  expect(acts.length).toBe(count + 1)
})
