import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createTestKey } from '../../test/api.ts'
import { createWorkerFixture, gate, jobs, keeping } from '../../test/webhooks/worker-fixture.ts'
import { connect } from '../db/connect.ts'
import { done, type Job, JobError, type JobKind, retryAfter, selfCompleted } from './job.ts'
import { completeJobs, enqueueJobs, listFailedJobs } from './job-store.ts'
import { createWorker } from './worker.ts'

const { db, url, log, workers, startWorker, left, allDone } = await createWorkerFixture()

const subjects = (found: readonly Job[]) => found.map(({ subjectId }) => subjectId)

test('every job is handled once and then gone', async () => {
  const handled: number[] = []
  startWorker({
    kind: 'work',
    laneCap: 50,
    handle: async (job) => {
      handled.push(job.subjectId)
      return done
    },
  })
  await enqueueJobs(db, jobs(500))
  await allDone()
  expect(handled.toSorted((a, b) => a - b)).toEqual(jobs(500).map(({ subjectId }) => subjectId))
})

test('a job enqueued in a process starts at once when its worker is woken, and is found by polling otherwise', async () => {
  const handled: string[] = []
  const handle = async (job: Job) => {
    handled.push(job.kind)
    return done
  }
  const worker = startWorker({ kind: 'work', laneCap: 5, handle }, { kind: 'polled', laneCap: 5, handle })
  await sleep(600)
  await enqueueJobs(db, jobs(1, { kind: 'polled' }))
  await enqueueJobs(db, jobs(1))
  worker.wake('work')
  worker.wake('unknown')
  await allDone()
  expect(handled.sort()).toEqual(['polled', 'work'])
})

test('a job of a removed company ends without a run, and one that runs at the removal is aborted', async () => {
  const { companyId: living } = await createTestKey(db)
  const { companyId: removed } = await createTestKey(db)
  const { handled, handle } = keeping()
  let stopped: Job | undefined
  const long = async (job: Job, signal: AbortSignal) => {
    await new Promise((stop) => signal.addEventListener('abort', stop))
    stopped = job
    return retryAfter(0, { counts: false })
  }
  startWorker({ kind: 'work', laneCap: 5, handle }, { kind: 'long', laneCap: 5, handle: long })
  await enqueueJobs(db, jobs(1, { kind: 'long', lane: 'long', companyId: removed }))
  await vi.waitFor(async () => expect(await db`select from jobs where claim_id is not null`).toHaveLength(1), {
    timeout: 90_000,
  })
  await db`update companies set deleted_at = now() where id = ${removed}`
  await enqueueJobs(db, [
    ...jobs(30, { lane: 'removed', companyId: removed }),
    ...jobs(3, { lane: 'living', companyId: living }),
  ])
  await allDone()
  expect(handled.map(({ companyId }) => companyId)).toEqual([living, living, living])
  expect(stopped?.companyId).toBe(removed)
}, 300_000)

test('a small lane is not kept waiting by a lane with ten thousand jobs', async () => {
  await enqueueJobs(db, jobs(10_000, { lane: 'big' }))
  await enqueueJobs(db, jobs(10, { lane: 'small' }))
  const lanes: string[] = []
  const worker = startWorker({
    kind: 'work',
    laneCap: 20,
    concurrency: 20,
    handle: async (job) => {
      lanes.push(job.lane)
      return done
    },
  })
  await vi.waitFor(() => expect(lanes).toContain('small'), { timeout: 90_000 })
  await vi.waitFor(() => expect(lanes.filter((lane) => lane === 'small')).toHaveLength(10), { timeout: 90_000 })
  await worker.stop()
  expect(lanes.lastIndexOf('small')).toBeLessThan(200)
})

test('two workers together never exceed the caps of a lane and of a company', async () => {
  const otherPool = connect(url, { max: 4 })
  const running = new Map<string, number>()
  const most = new Map<string, number>()
  const count = (name: string, by: number) => {
    running.set(name, (running.get(name) ?? 0) + by)
    most.set(name, Math.max(most.get(name) ?? 0, running.get(name) ?? 0))
  }
  const kind: JobKind = {
    kind: 'work',
    laneCap: 3,
    companyCap: 5,
    handle: async (job) => {
      const names = [job.lane, `company ${job.companyId}`]
      for (const name of names) count(name, 1)
      await sleep(Math.random() * 10)
      for (const name of names) count(name, -1)
      return done
    },
  }
  for (let lane = 0; lane < 8; lane++) await enqueueJobs(db, jobs(40, { lane: `lane ${lane}`, companyId: lane % 2 }))
  workers.push(createWorker({ db, log }, [kind]), createWorker({ db: otherPool, log }, [kind]))
  await allDone()
  const figures = Object.fromEntries(most)
  for (let lane = 0; lane < 8; lane++) expect(figures[`lane ${lane}`]).toBeLessThanOrEqual(3)
  expect([figures['company 0'], figures['company 1']]).toEqual([5, 5])
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  await otherPool.end()
})

test('with a lane cap of 1 two workers take the jobs of a lane in order, also when one has to be retried', async () => {
  const seen = new Map<string, number[]>()
  let failures = 0
  const kind: JobKind = {
    kind: 'work',
    laneCap: 1,
    ordered: true,
    backoff: { baseMs: 50, factor: 1, capMs: 50, jitter: 0 },
    handle: async (job) => {
      await sleep(Math.random() * 5)
      if (failures < 4 && Math.random() < 0.3) {
        failures += 1
        throw new Error('Not now')
      }
      seen.set(job.lane, [...(seen.get(job.lane) ?? []), job.subjectId])
      return done
    },
  }
  startWorker(kind)
  startWorker(kind)
  for (let part = 0; part < 5; part++) {
    for (const lane of ['a', 'b', 'c']) {
      const next = jobs(20, { lane }).map((job) => ({ ...job, subjectId: job.subjectId + part * 20 }))
      await enqueueJobs(db, next)
    }
  }
  await allDone()
  const expected = Array.from({ length: 100 }, (_, i) => i + 1)
  expect(Object.fromEntries(seen)).toEqual({ a: expected, b: expected, c: expected })
})

test('a job whose own data is the cause is retried, its error kept, and discarded after its last attempt', async () => {
  const handle = vi.fn(async (): Promise<never> => {
    throw new JobError('Broken')
  })
  startWorker({
    kind: 'work',
    laneCap: 1,
    maxAttempts: 3,
    backoff: { baseMs: 10, factor: 2, capMs: 100, jitter: 0 },
    handle,
  })
  await enqueueJobs(db, jobs(1))
  await vi.waitFor(async () => expect(await listFailedJobs(db, 10)).toHaveLength(1), { timeout: 90_000 })
  expect(handle).toHaveBeenCalledTimes(3)
  expect(await listFailedJobs(db, 10)).toMatchObject([{ subjectId: 1, attempts: 3, lastError: 'Error: Broken' }])
  expect(log.error).toHaveBeenCalledTimes(3)
})

test.each([
  ['a fault of the service', new TypeError('A row is missing')],
  ['an input/output error', Object.assign(new Error('I/O'), { code: '58030' })],
  ['a missing permission', Object.assign(new Error('permission denied'), { code: '42501' })],
])('a job that %s interrupts is run again until it succeeds', async (_, error) => {
  const handle = vi.fn(async () => {
    if (handle.mock.calls.length <= 5) throw error
    return done
  })
  const backoff = { baseMs: 10, factor: 2, capMs: 20, jitter: 0 }
  startWorker({ kind: 'work', laneCap: 1, maxAttempts: 2, backoff, handle })
  await enqueueJobs(db, jobs(1))
  await allDone()
  expect([handle.mock.calls.length, await listFailedJobs(db, 10)]).toEqual([6, []])
})

test('one bad job of a batch does not take the others with it', async () => {
  const handled: number[] = []
  startWorker({
    kind: 'work',
    laneCap: 1,
    batch: 10,
    maxAttempts: 1,
    handle: async (batch) => {
      if (subjects(batch).includes(4)) throw new JobError('Bad job')
      handled.push(...subjects(batch))
      return batch.map(() => done)
    },
  })
  await enqueueJobs(db, jobs(10))
  await vi.waitFor(async () => expect(await left()).toBe(1), { timeout: 90_000 })
  await vi.waitFor(async () => expect(await listFailedJobs(db, 10)).toMatchObject([{ subjectId: 4 }]), {
    timeout: 90_000,
  })
  expect(handled).toEqual([1, 2, 3, 5, 6, 7, 8, 9, 10])
})

test('a handler that asks for another time gets the job again then', async () => {
  const attempts: number[] = []
  startWorker({
    kind: 'work',
    laneCap: 1,
    handle: async (job) => {
      attempts.push(job.attempts)
      return attempts.length < 3 ? retryAfter(20, { counts: attempts.length === 1 }) : done
    },
  })
  await enqueueJobs(db, jobs(1))
  await allDone()
  expect(attempts).toEqual([0, 1, 1])
})

test('a batch may end differently for each of its jobs', async () => {
  const seen: number[][] = []
  startWorker({
    kind: 'work',
    laneCap: 1,
    batch: 3,
    handle: async (batch) => {
      seen.push(subjects(batch))
      return batch.map((job) => (job.subjectId === 2 && job.attempts === 0 ? retryAfter(10) : done))
    },
  })
  await enqueueJobs(db, jobs(3))
  await allDone()
  expect(seen).toEqual([[1, 2, 3], [2]])
})

test('a handler may finish its job in its own transaction', async () => {
  startWorker({
    kind: 'work',
    laneCap: 5,
    handle: async (job) => {
      await db.begin(async (tx) => expect(await completeJobs(tx, [job])).toEqual(new Set([job.id])))
      return selfCompleted
    },
  })
  await enqueueJobs(db, jobs(5))
  await allDone()
  expect(log.error).not.toHaveBeenCalled()
})

test('a worker that stops claims nothing more and ends what it has started', async () => {
  const work = gate()
  let started = 0
  let interrupted = 0
  const worker = startWorker({
    kind: 'work',
    laneCap: 100,
    concurrency: 5,
    handle: async (_, signal) => {
      started += 1
      await work.opened
      if (signal.aborted) interrupted += 1
      return done
    },
  })
  await enqueueJobs(db, jobs(20))
  await vi.waitFor(() => expect(started).toBe(5), 90_000)
  const stopped = worker.stop()
  await sleep(100)
  work.open()
  await stopped
  expect([started, interrupted]).toEqual([5, 0])
  expect(await left()).toBe(15)
  expect(await db`select from jobs where claim_id is not null`).toHaveLength(0)
})

test('jobs that have not ended by the deadline of a stop are aborted, and free for others at once', async () => {
  const seen: AbortSignal[] = []
  const worker = startWorker({
    kind: 'work',
    laneCap: 2,
    handle: async (job, signal) => {
      seen.push(signal)
      if (job.subjectId === 1) return await new Promise(() => {})
      await new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
      return done
    },
  })
  await enqueueJobs(db, jobs(2))
  await vi.waitFor(() => expect(seen).toHaveLength(2), 90_000)
  await worker.stop(50)
  expect(seen.map(({ aborted }) => aborted)).toEqual([true, true])
  const waiting = await db`select attempts from jobs where claim_id is null and due_at <= now()`
  expect(waiting).toEqual([{ attempts: 0 }, { attempts: 0 }])
})
