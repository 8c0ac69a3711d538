import { beforeEach } from 'vitest'
import { type ClaimRequest, claimJobs } from '../src/queue/claim/claim-store.ts'
import type { NewJob } from '../src/queue/job.ts'
import { createTestDatabase } from './database.ts'

export const request: ClaimRequest = {
  kind: 'work',
  batches: 100,
  batchSize: 1,
  laneCap: 100,
  companyCap: 1_000,
  afterLane: '',
  leaseMs: 15_000,
}

export const job = (subjectId: number, more: Partial<NewJob> = {}): NewJob => ({
  kind: 'work',
  lane: 'a',
  subjectId,
  ...more,
})

export const jobs = (count: number, more: Partial<NewJob> = {}) =>
  Array.from({ length: count }, (_, i) => job(i + 1, more))

export const subjects = (found: { subjectId: number }[]) => found.map(({ subjectId }) => subjectId)

/** An empty queue before each test. */
export async function startJobs() {
  const { db, url } = await createTestDatabase()
  beforeEach(async () => {
    await db`truncate jobs`
  })
  const claim = async (more: Partial<ClaimRequest> = {}) => (await claimJobs(db, { ...request, ...more })).jobs
  /** The leases run out: a crash, as others see it. */
  const expire = () => db`update jobs set lease_until = now() - interval '6 s' where lease_until is not null`
  return { db, url, claim, expire }
}
