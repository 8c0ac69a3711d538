import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { connect } from '../db/connect.ts'
import { done, type Job, type NewJob, type Offer, retryAfter, settled } from './job.ts'
import type { JobKind } from './job-kind.ts'
import { enqueueJobs, finishJobs, listJobsSetAside } from './job-store.ts'
import { createWorker, type Worker } from './worker.ts'

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

function startWorker(...kinds: JobKind[]): Worker {
  const worker = createWorker({ db, log }, kinds)
  workers.push(worker)
  return worker
}

const jobs = (count: number, more: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'work', lane: 'a', subjectId: i + 1, ...more }))

const left = async () => (await db`select from jobs`).length
const allDone = () => vi.waitFor(async () => expect(await left()).toBe(0), { timeout: 20_000, interval: 20 })
const subjects = (found: readonly Job[]) => found.map(({ subjectId }) => subjectId)

/** A promise that the test fulfils. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

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

test('a job put up in a process is begun at once when its worker is woken, and otherwise found by polling', async () => {
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
  await vi.waitFor(() => expect(lanes).toContain('small'), { timeout: 20_000 })
  await vi.waitFor(() => expect(lanes.filter((lane) => lane === 'small')).toHaveLength(10), { timeout: 20_000 })
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

test('with a lane cap of 1 two workers take the batches of a lane in order, also when one has to be retried', async () => {
  const seen = new Map<string, number[]>()
  let failures = 0
  const kind: JobKind = {
    kind: 'work',
    laneCap: 1,
    batch: 7,
    ordered: true,
    backoff: { baseMs: 50, factor: 1, capMs: 50, jitter: 0 },
    handle: async (batch) => {
      await sleep(Math.random() * 5)
      if (failures < 4 && Math.random() < 0.3) {
        failures += 1
        throw new Error('Not now')
      }
      const lane = batch[0]!.lane
      seen.set(lane, [...(seen.get(lane) ?? []), ...subjects(batch)])
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

test('a job that throws is retried, its error kept, and set aside after its last attempt', async () => {
  const handle = vi.fn(async (): Promise<never> => {
    throw new Error('Broken')
  })
  startWorker({
    kind: 'work',
    laneCap: 1,
    maxAttempts: 3,
    backoff: { baseMs: 10, factor: 2, capMs: 100, jitter: 0 },
    handle,
  })
  await enqueueJobs(db, jobs(1))
  await vi.waitFor(async () => expect(await listJobsSetAside(db, 10)).toHaveLength(1), { timeout: 10_000 })
  expect(handle).toHaveBeenCalledTimes(3)
  expect(await listJobsSetAside(db, 10)).toMatchObject([{ subjectId: 1, attempts: 3, lastError: 'Error: Broken' }])
  expect(log.error).toHaveBeenCalledTimes(3)
})

test('one bad job of a batch does not take the others with it', async () => {
  const handled: number[] = []
  startWorker({
    kind: 'work',
    laneCap: 1,
    batch: 10,
    maxAttempts: 1,
    handle: async (batch) => {
      if (subjects(batch).includes(4)) throw new Error('Bad job')
      handled.push(...subjects(batch))
      return done
    },
  })
  await enqueueJobs(db, jobs(10))
  await vi.waitFor(async () => expect(await left()).toBe(1), { timeout: 10_000 })
  await vi.waitFor(async () => expect(await listJobsSetAside(db, 10)).toMatchObject([{ subjectId: 4 }]))
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
      await db.begin(async (tx) => expect(await finishJobs(tx, [job])).toEqual(new Set([job.id])))
      return settled
    },
  })
  await enqueueJobs(db, jobs(5))
  await allDone()
  expect(log.error).not.toHaveBeenCalled()
})

describe('jobs that are put up as leased', () => {
  /** As whoever puts jobs up writes them when a worker has offered to take them over. */
  async function putUpFor(offer: Offer, lane: string, count: number): Promise<Job[]> {
    const claimId = randomUUID()
    const rows = await db<Job[]>`
      insert into jobs (kind, lane, company_id, subject_id, claim_id, lease_until)
      select 'work', ${lane}, 7, n, ${claimId}, now() + ${offer.leaseMs} * interval '1 ms'
      from generate_series(1, ${count}::int) as n
      returning id, kind, lane, company_id, subject_id, claim_id, due_at, attempts, created_at
    `
    return [...rows]
  }

  test('are begun by the worker that offered to, and by none twice', async () => {
    const handled: Job[] = []
    const handle = async (job: Job) => {
      handled.push(job)
      return done
    }
    const worker = startWorker({ kind: 'work', laneCap: 5, handle })
    startWorker({ kind: 'work', laneCap: 5, handle })
    const offer = worker.offer('work')!
    const put = await putUpFor(offer, 'a', 20)
    worker.takeOver('work', put, offer)
    await allDone()
    expect(handled.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(put.map(({ id }) => id))
    expect(worker.offer('unknown')).toBeUndefined()
  })

  test('are of lanes and companies that have taken less than half of their room, and of all room', async () => {
    const work = gate()
    const handle = async () => {
      await work.opened
      return done
    }
    const worker = startWorker({ kind: 'work', batch: 10, laneCap: 4, companyCap: 6, concurrency: 8, handle })
    const add = async (lane: string) => {
      const offer = worker.offer('work')!
      worker.takeOver('work', await putUpFor(offer, lane, 3), offer)
    }
    expect(worker.offer('work')).toMatchObject({ fullLanes: [], fullCompanies: [] })
    await add('a')
    await add('a')
    expect(worker.offer('work')).toMatchObject({ fullLanes: ['a'], fullCompanies: [] })
    await add('b')
    expect(worker.offer('work')).toMatchObject({ fullLanes: ['a'], fullCompanies: [7] })
    await add('b')
    expect(worker.offer('work')).toBeUndefined()
    work.open()
    await allDone()
  })

  test('are left to their lease when they come too late, and to others when the worker stops', async () => {
    const handled: Job[] = []
    const handle = async (job: Job) => {
      handled.push(job)
      return done
    }
    const worker = startWorker({ kind: 'work', laneCap: 5, handle })
    const offer = worker.offer('work')!
    worker.takeOver('work', await putUpFor(offer, 'a', 1), { ...offer, madeAtMs: offer.madeAtMs - 10_000 })
    const late = await putUpFor(offer, 'b', 1)
    await worker.stop()
    expect(worker.offer('work')).toBeUndefined()
    worker.takeOver('work', late, offer)
    await vi.waitFor(async () => expect(await db`select from jobs where claim_id is null`).toHaveLength(1))
    expect(handled).toEqual([])
    await db`update jobs set lease_until = now() - interval '1 s' where claim_id is not null`
    startWorker({ kind: 'work', laneCap: 5, handle })
    await allDone()
    expect(handled.map(({ lane }) => lane).sort()).toEqual(['a', 'b'])
  })
})

test('a worker that stops claims nothing more and ends what it has begun', async () => {
  const work = gate()
  let begun = 0
  let interrupted = 0
  const worker = startWorker({
    kind: 'work',
    laneCap: 100,
    concurrency: 5,
    handle: async (_, signal) => {
      begun += 1
      await work.opened
      if (signal.aborted) interrupted += 1
      return done
    },
  })
  await enqueueJobs(db, jobs(20))
  await vi.waitFor(() => expect(begun).toBe(5))
  const stopped = worker.stop()
  await sleep(100)
  work.open()
  await stopped
  expect([begun, interrupted]).toEqual([5, 0])
  expect(await left()).toBe(15)
  expect(await db`select from jobs where claim_id is not null`).toHaveLength(0)
})

test('what has not ended by the deadline of a stop is told to end, and free for others at once', async () => {
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
  await vi.waitFor(() => expect(seen).toHaveLength(2))
  await worker.stop(50)
  expect(seen.map(({ aborted }) => aborted)).toEqual([true, true])
  const waiting = await db`select attempts from jobs where claim_id is null and due_at <= now()`
  expect(waiting).toEqual([{ attempts: 0 }, { attempts: 0 }])
})
