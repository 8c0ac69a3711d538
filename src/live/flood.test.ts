import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFlood } from './hub.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Returns the flood state in each of ten ticks of 100 ms. */
function during(isFlood: (count: number) => boolean, perTick: number): boolean[] {
  return Array.from({ length: 10 }, () => {
    vi.advanceTimersByTime(100)
    return isFlood(perTick)
  })
}

const startFlood = () => {
  const flood = createFlood()
  return (count: number): boolean => {
    flood.add(count)
    return flood.isOn
  }
}

test('a thousand changes in a second, and once 500 at once, are no flood', () => {
  const isFlood = startFlood()
  expect(isFlood(500)).toBe(false)
  vi.advanceTimersByTime(500)
  for (let second = 0; second < 10; second += 1) expect(during(isFlood, 100)).not.toContain(true)
})

test('more are a flood soon, as long as they last and no longer than half a second after', () => {
  const isFlood = startFlood()
  during(isFlood, 400)
  for (let second = 0; second < 10; second += 1) expect(during(isFlood, 400)).not.toContain(false)
  vi.advanceTimersByTime(300)
  expect(isFlood(1)).toBe(true)
  vi.advanceTimersByTime(200)
  expect(isFlood(1)).toBe(false)
})

test('a flood ends without a further change, and changes that come much later do not continue it', () => {
  const flood = createFlood()
  flood.add(1_000)
  expect(flood.isOn).toBe(true)
  vi.advanceTimersByTime(500)
  expect(flood.isOn).toBe(false)
  flood.add(1_000)
  vi.advanceTimersByTime(60_000)
  flood.add(400)
  expect(flood.isOn).toBe(false)
})
