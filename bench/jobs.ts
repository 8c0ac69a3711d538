/**
 * Measures leased jobs on the embedded server with everything written durably: `node bench/jobs.ts`.
 * The claim's time at 1,000 and 1,000,000 due jobs, what a lane's backlog costs, and jobs/s from end to end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Pool } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded/start.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import { claimJobs } from '../src/jobs/claim/claim-store.ts'
import { done } from '../src/jobs/job.ts'
import { jobStats } from '../src/jobs/job-stat-store.ts'
import { enqueueJobs } from '../src/jobs/job-store.ts'
import { createWorker } from '../src/jobs/worker.ts'

const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
const server = await startEmbedded(folder)
const db = connect(server.url, { max: 6 })
await migrate(db)

console.log('claim of 100 jobs, ms (median of 40, worst) and pages touched by one')
for (const [jobs, lanes] of [
  [1_000, 1],
  [1_000, 1_000],
  [1_000_000, 1],
  [1_000_000, 1_000],
] as const) {
  await fill(db, jobs, (i) => `i % ${lanes}`.replaceAll('i', i))
  console.log(`  ${jobs} due over ${lanes} lane(s):`, await timeClaims(db))
}
await fill(db, 100_999, (i) => `greatest(${i} - 100000, 0)`)
console.log('  100000 in one lane beside 999 lanes of 1:', await timeClaims(db))
await fill(db, 1_998, (i) => `${i} % 999`)
console.log('  the same 999 lanes of 2 without it:', await timeClaims(db))

await fill(db, 1_000_000, (i) => `${i} % 1000`)
console.log('figures over 1000000 jobs, ms:', (await timed(() => jobStats(db, ['bench']))).toFixed(1))
console.log('skip scan over all 1000 lanes, ms:', (await median(9, () => skipScan(db))).toFixed(2))

await db`truncate jobs`
for (const lanes of [1, 20, 1_000]) await throughput(lanes)

await db.end()
await server.stop()
await rm(folder, { recursive: true, force: true })

async function fill(pool: Pool, jobs: number, lane: (i: string) => string): Promise<void> {
  await pool`truncate jobs`
  await pool.unsafe(`
    insert into jobs (kind, lane, company_id, subject_id, due_at)
    select 'bench', 'lane-' || ${lane('i')}, (${lane('i')}) % 100, i, now() - interval '1 hour' + i * interval '1 ms'
    from generate_series(1, ${jobs}) as i
  `)
  await pool`vacuum analyze jobs`
}

async function timeClaims(pool: Pool): Promise<string> {
  const times: number[] = []
  let afterLane = ''
  let claimedJobs = 0
  for (let i = 0; i < 42; i++) {
    const startedAt = performance.now()
    const caps = { laneCap: 100, companyCap: 1_000_000, leaseMs: 15_000 }
    const { jobs, lastLane } = await claimJobs(pool, { kind: 'bench', batches: 100, batchSize: 1, afterLane, ...caps })
    times.push(performance.now() - startedAt)
    afterLane = lastLane
    claimedJobs += jobs.length
    // put back: every claim finds the same number of due jobs
    await pool`
      update jobs set claim_id = null, lease_until = null
      where id = any(${jobs.map(({ id }) => id)}::bigint[])
    `
  }
  const sorted = times.slice(2).sort((a, b) => a - b)
  return `${sorted[20]!.toFixed(2)}, ${sorted.at(-1)!.toFixed(2)} (${claimedJobs / 42} jobs each)`
}

/** The cost of a claim that looks at every lane: the alternative to going round from where the last one ended. */
function skipScan(pool: Pool) {
  return pool`
  with recursive lanes as (
    (select lane, due_at from jobs
     where kind = 'bench' and claim_id is null and failed_at is null
     order by lane, due_at limit 1)
    union all
    select next.*
    from lanes
    cross join lateral (
      select lane, due_at from jobs
      where kind = 'bench' and lane > lanes.lane and claim_id is null and failed_at is null
      order by lane, due_at limit 1
    ) as next
  )
  select count(*) from lanes where due_at <= now()
`
}

async function throughput(lanes: number): Promise<void> {
  const total = 60_000
  let handled = 0
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const enqueuing = await timed(async () => {
    for (let from = 0; from < total; from += 500) {
      const part = Array.from({ length: 500 }, (_, i) => from + i)
      await enqueueJobs(
        db,
        part.map((i) => ({ kind: 'bench', lane: `lane-${i % lanes}`, companyId: i % lanes, subjectId: i })),
      )
    }
  })
  const pool = connect(server.url, { max: 4, pinPlans: true })
  const kind = {
    kind: 'bench',
    laneCap: 1_000,
    concurrency: 500,
    handle: async () => {
      handled += 1
      if (handled === total) end()
      return done
    },
  }
  const working = await timed(async () => {
    const worker = createWorker({ db: pool, log: console }, [kind])
    await ended
    await worker.stop()
  })
  const perSecond = (ms: number) => Math.round((total / ms) * 1_000)
  console.log(`${lanes} lane(s): enqueued ${perSecond(enqueuing)}/s, claimed and finished ${perSecond(working)}/s`)
  await pool.end()
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}

async function median(times: number, act: () => Promise<unknown>): Promise<number> {
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push(await timed(act))
  return all.sort((a, b) => a - b)[times >> 1] ?? 0
}
