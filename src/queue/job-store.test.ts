import { expect, onTestFinished, test } from 'vitest'
import { readsOf } from '../../test/database.ts'
import { job, jobs, request, startJobs, subjects } from '../../test/job-world.ts'
import { connect } from '../db/connect.ts'
import { claimJobs } from './claim/claim-store.ts'
import type { Job } from './job.ts'
import {
  companiesOfFailedJob,
  completeJobs,
  enqueueJobs,
  hastenJobs,
  listFailedJobs,
  recoverJobs,
  releaseJobs,
  renewJobs,
  rescheduleJobs,
  retryJob,
} from './job-store.ts'

const { db, url, claim, expire } = await startJobs()

test('an enqueued job comes back with what it was given, once', async () => {
  await enqueueJobs(db, [job(7, { companyId: 3 })])
  const [found, ...others] = await claim()
  expect(others).toEqual([])
  expect(found).toMatchObject({ kind: 'work', lane: 'a', companyId: 3, subjectId: 7, attempts: 0 })
  expect(await claim()).toEqual([])
})

test('a job of a rolled back transaction never existed', async () => {
  const rollback = new Error('rollback')
  await db
    .begin(async (tx) => {
      await enqueueJobs(tx, jobs(3))
      throw rollback
    })
    .catch((error) => expect(error).toBe(rollback))
  expect(await claim()).toEqual([])
})

test('a subject marked once has one job however often it is enqueued', async () => {
  expect(await enqueueJobs(db, [job(1, { once: true }), job(1, { once: true }), job(2, { once: true })])).toBe(2)
  expect(await enqueueJobs(db, [job(2, { once: true }), job(3, { once: true }), job(3)])).toBe(2)
  expect(subjects(await claim())).toEqual([1, 2, 3, 3])
  expect(await enqueueJobs(db, [job(1, { once: true })])).toBe(0)
})

test('subjects enqueued by many at once in opposite orders neither double nor deadlock', async () => {
  const forward = jobs(3_000, { once: true })
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      db.begin((tx) => enqueueJobs(tx, i % 2 === 0 ? forward : forward.toReversed())),
    ),
  )
  expect(await db`select from jobs`).toHaveLength(3_000)
})

test('a job is not due before its time, and the claim says when it will be', async () => {
  await enqueueJobs(db, [job(1, { dueInMs: 60_000 }), job(2, { dueAt: new Date(Date.now() + 7_200_000) })])
  const claimed = await claimJobs(db, request)
  expect(claimed.jobs).toEqual([])
  expect(claimed.nextDueInMs).toBeGreaterThan(30_000)
  expect(claimed.nextDueInMs).toBeLessThanOrEqual(60_000)
})

test('a rescheduled job is due at its time, by a date or a wait, and counts the attempt if asked to', async () => {
  await enqueueJobs(db, jobs(3))
  const [a, b, c] = await claim()
  await rescheduleJobs(db, [
    { ...a!, at: new Date(Date.now() - 1_000), counts: true, error: `${'x'.repeat(600)}\0` },
    { ...b!, afterMs: 0, counts: false },
    { ...c!, afterMs: 60_000, counts: true },
  ])
  const again = await claim()
  expect(again.map(({ subjectId, attempts }) => [subjectId, attempts])).toEqual([
    [1, 1],
    [2, 0],
  ])
  const [row] = await db`select length(last_error) as length from jobs where subject_id = 1`
  expect(row!.length).toBe(500)
})

test('a held job keeps its lane closed until it is due, and is the first then', async () => {
  await enqueueJobs(db, jobs(2))
  const batches = { batchSize: 1, laneCap: 1 }
  const [first] = await claim(batches)
  await rescheduleJobs(db, [{ ...first!, afterMs: 60_000, counts: true, hold: true }])
  await recoverJobs(db, ['work'], 1)
  expect(await claim(batches)).toEqual([])
  await expire()
  await recoverJobs(db, ['work'], 1)
  expect(subjects(await claim(batches))).toEqual([1])
})

test('a failed job is listed, not claimed, and starts again when revived or enqueued again', async () => {
  await enqueueJobs(db, jobs(2, { once: true }))
  const held = await claim()
  await rescheduleJobs(
    db,
    held.map((one) => ({ ...one, counts: true, error: 'Broken', fail: true })),
  )
  expect(await claim()).toEqual([])
  const failed = await listFailedJobs(db, 10, 'work')
  expect(failed).toMatchObject([{ lastError: 'Broken', attempts: 1 }, { lastError: 'Broken' }])
  const { id, companyId } = failed[0]!
  expect(await companiesOfFailedJob(db, id)).toEqual([companyId])
  expect(await retryJob(db, (companyId ?? 0) + 1, id)).toBe(false)
  expect(await retryJob(db, companyId, id)).toBe(true)
  expect(await companiesOfFailedJob(db, id)).toEqual([])
  expect(await enqueueJobs(db, jobs(2, { once: true }))).toBe(1)
  expect((await claim()).map(({ attempts }) => attempts)).toEqual([0, 0])
})

test('returned jobs can be claimed at once', async () => {
  await enqueueJobs(db, jobs(3))
  await releaseJobs(db, await claim())
  expect(subjects(await claim())).toEqual([1, 2, 3])
})

test('plans made while the table was empty read no more than they need when it is full', async () => {
  const session = connect(url, { max: 1, pinPlans: true })
  onTestFinished(() => session.end())
  const settings =
    await session`select from pg_settings where name ~ '^(enable_(seqscan|hashjoin)|jit)$' and setting = 'off'`
  expect(settings).toHaveLength(3)
  await session`vacuum analyze jobs`
  for (let i = 0; i < 4; i += 1) {
    await enqueueJobs(session, jobs(1))
    const [held] = (await claimJobs(session, request)).jobs as [Job]
    await renewJobs(session, [held], 15_000)
    if (i === 0) await releaseJobs(session, [held])
    if (i === 1) await rescheduleJobs(session, [{ ...held, counts: true }])
    if (i === 2) await completeJobs(session, [held])
  }
  await session`delete from jobs`
  await session`vacuum analyze jobs`

  await enqueueJobs(session, jobs(5_000))
  await session.begin(async (tx) => {
    const before = await readsOf(tx, 'jobs')
    const { jobs: held } = await claimJobs(tx, { ...request, batches: 50 })
    expect(held).toHaveLength(50)
    for (const write of [completeJobs, releaseJobs]) await write(tx, held.splice(0, 10))
    await renewJobs(tx, held, 15_000)
    await rescheduleJobs(
      tx,
      held.map((one) => ({ ...one, counts: true })),
    )
    const { scanned, fetched } = await readsOf(tx, 'jobs')
    expect(scanned - before.scanned).toBe(0)
    expect(fetched - before.fetched).toBeLessThan(1_000)
  })
})

test('jobs are due at once or removed in their company alone', async () => {
  const late = { dueAt: new Date('2100-01-01T00:00:00Z') }
  await enqueueJobs(
    db,
    [1, 2].flatMap((companyId) => [job(1, { companyId, ...late }), job(2, { companyId })]),
  )
  await db`update jobs set failed_at = now() where subject_id = 2`
  await hastenJobs(db, 1, 'work', 'a', [1, 2])
  const left =
    await db`select company_id, subject_id, due_at <= now() as is_due from jobs order by company_id, subject_id`
  expect([...left]).toEqual([
    { companyId: 1, subjectId: 1, isDue: true },
    { companyId: 2, subjectId: 1, isDue: false },
    { companyId: 2, subjectId: 2, isDue: true },
  ])
})
