import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { done, type Job, type NewJob } from './job.ts'
import type { JobKind } from './job-kind.ts'
import { claimJobs, enqueueJobs } from './job-store.ts'
import { createWorker, type Worker } from './worker.ts'

const { db } = await createTestDatabase()
const log = { error: vi.fn(), warn: vi.fn() }
const workers: Worker[] = []

beforeEach(async () => {
  await db`truncate jobs`
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  log.error.mockReset()
  log.warn.mockReset()
})

function startWorker(...kinds: JobKind[]): Worker {
  const worker = createWorker({ db, log }, kinds)
  workers.push(worker)
  return worker
}

const jobs = (count: number, more: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'work', lane: 'a', subjectId: i + 1, ...more }))

const left = async () => (await db`select from jobs`).length
const allDone = () => vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 20_000, interval: 20 })
const lapse = () => db`update jobs set lease_until = now() - interval '6 s' where lease_until is not null`

/** A promise that the test fulfils. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

test('a worker that lost its lease is told so, and cannot finish what another took over', async () => {
  const slow = gate()
  const begun = gate()
  let signal: AbortSignal | undefined
  startWorker({
    kind: 'work',
    laneCap: 1,
    handle: async (_, given) => {
      signal = given
      begun.open()
      await slow.opened
      return done
    },
  })
  await enqueueJobs(db, jobs(1))
  await begun.opened
  await db`update jobs set claim_id = gen_random_uuid()`
  await vi.waitFor(() => expect(signal?.aborted).toBe(true), { timeout: 15_000 })
  slow.open()
  await workers[0]!.stop()
  expect(await left()).toBe(1)
})

test('a job that runs longer than a lease stays with its worker', { timeout: 60_000 }, async () => {
  let runs = 0
  const handle = async (_: Job, signal: AbortSignal) => {
    runs += 1
    await sleep(18_000)
    expect(signal.aborted).toBe(false)
    return done
  }
  startWorker({ kind: 'work', laneCap: 1, handle })
  startWorker({ kind: 'work', laneCap: 1, handle })
  await enqueueJobs(db, jobs(1))
  await vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 40_000, interval: 200 })
  expect(runs).toBe(1)
})

test('jobs of a dead worker are taken over', async () => {
  await enqueueJobs(db, jobs(5))
  const request = { kind: 'work', units: 5, unitSize: 1, laneCap: 5, companyCap: 5, afterLane: '', leaseMs: 15_000 }
  expect((await claimJobs(db, request)).jobs).toHaveLength(5)
  startWorker({ kind: 'work', laneCap: 5, handle: async () => done })
  await sleep(500)
  expect(await left()).toBe(5)
  await lapse()
  await allDone()
})
