import { Registry } from 'prom-client'
import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { claimJobs } from './claim/claim-store.ts'
import type { NewJob } from './job.ts'
import { jobStats, registerJobGauges } from './job-stats.ts'
import { enqueueJobs, rescheduleJobs } from './job-store.ts'

const { db } = await createTestDatabase()

beforeEach(async () => {
  await db`truncate jobs`
})

const job = (subjectId: number, more: Partial<NewJob> = {}): NewJob => ({ kind: 'work', lane: 'a', subjectId, ...more })
const jobs = (count: number, more: Partial<NewJob> = {}) => Array.from({ length: count }, (_, i) => job(i + 1, more))
const claim = async (batches: number) => {
  const caps = { batchSize: 1, laneCap: 9, companyCap: 9, leaseMs: 15_000 }
  return (await claimJobs(db, { kind: 'work', batches, afterLane: '', ...caps })).jobs
}

test('the figures show by kind what is due, in flight and failed, and the age of the oldest', async () => {
  await enqueueJobs(db, jobs(5, { dueAt: new Date(Date.now() - 90_000) }))
  await enqueueJobs(db, [job(9, { lane: 'later', dueInMs: 60_000 }), job(1, { kind: 'other' })])
  const [, second] = await claim(2)
  await rescheduleJobs(db, [{ ...second!, counts: true, fail: true }])
  const stats = await jobStats(db, ['other', 'work'])
  expect(stats).toMatchObject([
    { kind: 'other', due: 1, inFlight: 0, failed: 0 },
    { kind: 'work', due: 3, inFlight: 1, failed: 1 },
  ])
  expect(stats[1]!.oldestDueAgeSeconds).toBeGreaterThan(80)
})

test('the gauges give the figures by kind, and 0 for a kind without jobs', async () => {
  const registry = new Registry()
  registerJobGauges(registry, db, [{ kind: 'work' }, { kind: 'mail' }])
  await enqueueJobs(db, jobs(3))
  await claim(1)
  const text = await registry.metrics()
  expect(text).toContain('parley_jobs_due{kind="work"} 2')
  expect(text).toContain('parley_jobs_in_flight{kind="work"} 1')
  expect(text).toContain('parley_jobs_due{kind="mail"} 0')
})

test('beyond ten thousand due jobs the figure is an estimate', async () => {
  await db`
    insert into jobs (kind, lane, subject_id)
    select 'many', 'lane-' || i % 7, i from generate_series(1, 30000) as i
  `
  await db`analyze jobs`
  const [stat] = await jobStats(db, ['many'])
  expect(stat!.due).toBeGreaterThan(20_000)
  expect(stat!.due).toBeLessThan(40_000)
})
