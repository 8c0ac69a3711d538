import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createWorkerFixture, gate, jobs } from '../../test/webhooks/worker-fixture.ts'
import { expireLeases } from '../../test/world.ts'
import { claimJobs } from './claim/claim-store.ts'
import { done, type Job } from './job.ts'
import { enqueueJobs } from './job-store.ts'

/** A busy machine may renew seconds late. */
const LEASE_MS = 9_000
const { db, workers, startWorker, left, allDone } = await createWorkerFixture({ leaseMs: LEASE_MS })

test('a worker that lost its lease gets an abort signal, and cannot complete what another has claimed', async () => {
  const slow = gate()
  const started = gate()
  let signal: AbortSignal | undefined
  startWorker({
    kind: 'work',
    laneCap: 1,
    handle: async (_, abortSignal) => {
      signal = abortSignal
      started.open()
      await slow.opened
      return done
    },
  })
  await enqueueJobs(db, jobs(1))
  await started.opened
  await db`update jobs set claim_id = gen_random_uuid()`
  await vi.waitFor(() => expect(signal?.aborted).toBe(true), { timeout: 90_000 })
  slow.open()
  await workers[0]!.stop()
  expect(await left()).toBe(1)
})

test('a job that runs longer than a lease stays with its worker', async () => {
  let runs = 0
  const handle = async (_: Job, signal: AbortSignal) => {
    runs += 1
    await sleep(1.5 * LEASE_MS)
    expect(signal.aborted).toBe(false)
    return done
  }
  startWorker({ kind: 'work', laneCap: 1, handle })
  startWorker({ kind: 'work', laneCap: 1, handle })
  await enqueueJobs(db, jobs(1))
  await vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 90_000, interval: 200 })
  expect(runs).toBe(1)
})

test('jobs of a dead worker are claimed by another', async () => {
  await enqueueJobs(db, jobs(5))
  const request = { kind: 'work', batches: 5, batchSize: 1, laneCap: 5, companyCap: 5, afterLane: '', leaseMs: 15_000 }
  expect((await claimJobs(db, request)).jobs).toHaveLength(5)
  startWorker({ kind: 'work', laneCap: 5, handle: async () => done })
  await sleep(500)
  expect(await left()).toBe(5)
  await expireLeases(db)
  await allDone()
})
