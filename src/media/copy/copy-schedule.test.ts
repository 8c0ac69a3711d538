import { expect, test } from 'vitest'
import { nextCopyAt } from './copy-schedule.ts'

const noted = new Date('2026-01-01T00:00:00Z')
const HOUR = 3_600_000

test('soon at first, then hourly, for seven days', () => {
  const waits: number[] = []
  let now = noted
  for (let failures = 1; ; failures += 1) {
    const next = nextCopyAt(failures, noted, now)
    if (next === undefined) break
    waits.push(next.getTime() - now.getTime())
    now = next
  }
  expect(waits.slice(0, 5)).toEqual([5_000, 30_000, 120_000, 600_000, HOUR])
  expect(new Set(waits.slice(5))).toEqual(new Set([HOUR]))
  expect(now.getTime()).toBeLessThan(noted.getTime() + 7 * 24 * HOUR)
  expect(now.getTime()).toBeGreaterThanOrEqual(noted.getTime() + 7 * 24 * HOUR - HOUR)
})
