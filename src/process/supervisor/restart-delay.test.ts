import { expect, test } from 'vitest'
import { MAX_RESTARTS_PER_MINUTE, restartDelayMs } from './supervisor.ts'

test('the wait before a restart doubles with each restart of the last minute, up to 10 s', () => {
  const delays = Array.from({ length: 9 }, (_, restarts) => restartDelayMs(Array(restarts).fill(1_000), 1_000))
  expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
})

test('restarts that are more than a minute ago count no more', () => {
  expect(restartDelayMs([0, 1_000], 61_001)).toBe(100)
})

test('a worker that always ends is restarted at most 10 times in any minute', () => {
  const restarts: number[] = []
  for (let nowMs = 0; nowMs < 600_000; ) {
    nowMs += restartDelayMs(restarts, nowMs)
    restarts.push(nowMs)
  }
  const inMinuteBefore = (endMs: number) => restarts.filter((atMs) => atMs > endMs - 60_000 && atMs <= endMs).length
  expect(Math.max(...restarts.map(inMinuteBefore))).toBe(MAX_RESTARTS_PER_MINUTE)
})
