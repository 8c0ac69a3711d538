import type { Db } from '../db/connect.ts'

export type JobStat = {
  kind: string
  /** Jobs that could run now: exact up to 10,000, beyond it the planner's estimate. */
  due: number
  inFlight: number
  /** How long the job that has waited longest has been due; 0 when none is. */
  oldestDueAgeSeconds: number
  setAside: number
}

/** Lanes looked at per kind; due jobs counted per kind. */
const MOST_LANES = 10_000
const MOST_COUNTED = 10_000

/**
 * How the kinds stand, cheap with a million jobs: the oldest is the oldest of the lanes' heads, and no more than
 * 10,000 jobs are counted. Kinds without jobs do not appear.
 */
export async function jobStats(db: Db): Promise<JobStat[]> {
  const stats = await db<(JobStat & { isMore: boolean })[]>`
    select kind, due, in_flight, oldest_due_age_seconds, set_aside, due > ${MOST_COUNTED} as is_more
    from job_stats(${MOST_LANES}::integer, ${MOST_COUNTED}::integer)
  `
  return await Promise.all(
    stats.map(async ({ isMore, ...stat }) => (isMore ? { ...stat, due: await estimateDue(db, stat.kind) } : stat)),
  )
}

type Plan = [{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }]

/** Many: how many by the statistics that the database keeps, at least as many as were counted. */
async function estimateDue(db: Db, kind: string): Promise<number> {
  const [row] = await db<Plan>`
    explain (format json)
    select from jobs
    where kind = ${kind} and claim_id is null and failed_at is null and due_at <= now()
  `
  return Math.max(row?.['QUERY PLAN']?.[0]?.Plan['Plan Rows'] ?? 0, MOST_COUNTED)
}
