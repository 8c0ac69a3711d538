import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startSweep } from './sweep.ts'

const log = { error: vi.fn() }
beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  log.error.mockClear()
})

test('runs that fall due during a run are left out', async () => {
  const run = Promise.withResolvers<void>()
  const work = vi.fn(() => run.promise)
  const sweep = startSweep(log, 1_000, work)
  await vi.advanceTimersByTimeAsync(5_000)
  run.resolve()
  await vi.advanceTimersByTimeAsync(500)
  expect(work).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(500)
  expect(work).toHaveBeenCalledTimes(2)
  await sweep.stop()
})

const rejects = () => Promise.reject(new Error('away'))
const throws = () => {
  throw new Error('away')
}
test.each([rejects, throws])('a failure is logged, and the next run tries again: %o', async (fail) => {
  const work = vi.fn(async () => {}).mockImplementationOnce(fail)
  const sweep = startSweep(log, 1_000, work)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(work).toHaveBeenCalledTimes(2)
  expect(log.error.mock.calls).toEqual([[{ reason: 'Error: away' }, 'sweep.failed']])
  await sweep.stop()
})

test('a stop waits for the run in progress, and none follows', async () => {
  const run = Promise.withResolvers<void>()
  const work = vi.fn(() => run.promise)
  const sweep = startSweep(log, 1_000, work)
  let isStopped = false
  const stopped = sweep.stop().then(() => {
    isStopped = true
  })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(isStopped).toBe(false)
  run.resolve()
  await stopped
  expect(work).toHaveBeenCalledTimes(1)
})
