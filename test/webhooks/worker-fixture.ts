import { afterEach, beforeEach, expect, vi } from 'vitest'
import { done, type Job, type JobKind, type NewJob } from '../../src/queue/job.ts'
import { LEASE_MS } from '../../src/queue/leases.ts'
import { createWorker, type Worker } from '../../src/queue/worker.ts'
import { createTestDatabase } from '../database.ts'

/** A database without jobs before each test, and workers on it, with leases of this length, that are stopped afterwards. */
export async function createWorkerFixture({ leaseMs = LEASE_MS } = {}) {
  const { db, url } = await createTestDatabase()
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

  const startWorker = (...kinds: JobKind[]): Worker => {
    const worker = createWorker({ db, log, leaseMs }, kinds)
    workers.push(worker)
    return worker
  }
  const left = async () => (await db`select from jobs`).length
  const allDone = () => vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 20_000, interval: 20 })
  return { db, url, log, workers, startWorker, left, allDone }
}

export const jobs = (count: number, more: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'work', lane: 'a', subjectId: i + 1, ...more }))

/** A promise that the test fulfils. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** A handler that ends every job, and what it was given. */
export function keeping() {
  const handled: Job[] = []
  const handle = async (job: Job) => {
    handled.push(job)
    return done
  }
  return { handled, handle }
}
