import { expect, test } from 'vitest'
import { nextCopyAt } from './copy-media.ts'

const noted = new Date('2026-01-01T00:00:00Z')
const HOUR = 3_600_000

test('soon at first, then hourly, for seven days', () => {
  const waits: number[] = []
  let now = noted
  for (let failures = 1; ; failures += 1) {
    const next = nextCopyAt({ failures, isRefused: false }, noted, now)
    if (next === undefined) break
    waits.push(next.getTime() - now.getTime())
    now = next
  }
  expect(waits.slice(0, 5)).toEqual([5_000, 30_000, 120_000, 600_000, HOUR])
  expect(new Set(waits.slice(5))).toEqual(new Set([HOUR]))
  expect(now.getTime()).toBeLessThan(noted.getTime() + 7 * 24 * HOUR)
  expect(now.getTime()).toBeGreaterThanOrEqual(noted.getTime() + 7 * 24 * HOUR - HOUR)
})

test('a refusal is asked about again for seven days, and seldom enough for 360dialog', () => {
  const asked = [noted.getTime()]
  for (let failures = 1; ; failures += 1) {
    const next = nextCopyAt({ failures, isRefused: true }, noted, new Date(asked.at(-1)!))
    if (next === undefined) break
    asked.push(next.getTime())
  }
  for (const from of asked) expect(asked.filter((at) => at >= from && at < from + HOUR).length).toBeLessThanOrEqual(5)
  expect(asked.at(-1)).toBeGreaterThanOrEqual(noted.getTime() + 6.5 * 24 * HOUR)
  expect(asked[1]).toBe(noted.getTime() + 5_000)
})
