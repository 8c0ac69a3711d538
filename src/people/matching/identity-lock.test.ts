import { expect, test } from 'vitest'
import { pauseMs } from './identity-lock.ts'

test.each([
  ['short', 4, 1, 4],
  ['longer than a quarter of the wait', 4, 10, 40],
  ['as long as a statement may take', 128, 30_000, 2_000],
])('the pause after an attempt that was %s', (_, waitMs, attemptMs, meanMs) => {
  expect(pauseMs(waitMs, attemptMs, 0.5)).toBe(meanMs)
  expect([pauseMs(waitMs, attemptMs, 0), pauseMs(waitMs, attemptMs, 1)]).toEqual([meanMs / 2, meanMs * 1.5])
})
