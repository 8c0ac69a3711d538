import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startSweep } from './sweep.ts'

const log = { error: vi.fn() }
const metrics = { sweeps: { inc: vi.fn() } }
const start = (work: () => Promise<unknown>, afterMs = 0) =>
  startSweep({ log, metrics }, { name: 'test', everyMs: 1_000, afterMs }, work)
beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.clearAllMocks()
})

test('runs that fall due during a run are left out', async () => {
  const run = Promise.withResolvers<void>()
  const work = vi.fn(() => run.promise)
  const sweep = start(work)
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
  const sweep = start(work)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(work).toHaveBeenCalledTimes(2)
  expect(log.error.mock.calls).toEqual([[{ sweep: 'test', reason: 'Error: away' }, 'sweep.failed']])
  for (const outcome of ['completed', 'failed'])
    expect(metrics.sweeps.inc).toHaveBeenCalledWith({ sweep: 'test', outcome })
  await sweep.stop()
})

test('a stop waits for the run in progress, and none follows', async () => {
  const run = Promise.withResolvers<void>()
  const work = vi.fn(() => run.promise)
  const sweep = start(work)
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

test('the first run waits as long as it is told, and none follows a stop before it', async () => {
  const work = vi.fn(async () => {})
  const [early, stopped] = [start(work, 500), start(work, 500)]
  await vi.advanceTimersByTimeAsync(499)
  expect(work).not.toHaveBeenCalled()
  await stopped.stop()
  await vi.advanceTimersByTimeAsync(1_001)
  expect(work).toHaveBeenCalledTimes(2)
  await early.stop()
})
