import type { Pool } from '../src/db/connect.ts'
import { claimJobs } from '../src/jobs/claim/claim-store.ts'

const KIND = 'bench.claim'
const TIMES = 40

/** The median time in ms of claiming 100 of so many due jobs, over so many lanes. Leaves no job behind. */
export async function timeClaims(db: Pool, jobs: number, lanes: number): Promise<number> {
  await db`
    insert into jobs (kind, lane, company_id, subject_id, due_at)
    select ${KIND}, 'lane-' || n % ${lanes}::int, n % 100, n, now() - interval '1 hour' + n * interval '1 ms'
    from generate_series(1, ${jobs}::int) as n
  `
  await db`vacuum analyze jobs`
  const times: number[] = []
  let afterLane = ''
  for (let i = 0; i < TIMES; i += 1) {
    const startedAt = performance.now()
    const limits = { batches: 100, batchSize: 1, laneCap: 100, companyCap: 1_000_000, leaseMs: 15_000 }
    const claimed = await claimJobs(db, { kind: KIND, afterLane, ...limits })
    times.push(performance.now() - startedAt)
    afterLane = claimed.lastLane
    // Put back: every claim finds the same number of due jobs.
    const ids = claimed.jobs.map(({ id }) => id)
    await db`update jobs set claim_id = null, lease_until = null where id = any (${ids}::bigint[])`
  }
  await db`delete from jobs where kind = ${KIND}`
  await db`vacuum jobs`
  return times.sort((a, b) => a - b)[TIMES / 2] ?? 0
}
