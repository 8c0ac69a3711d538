import type { Db } from '../db/connect.ts'
import type { Claim, Job, NewJob, Retry } from './job.ts'

export type ClaimRequest = {
  kind: string
  /** Units wanted at most: jobs, or batches when `unitSize` is more than 1. */
  units: number
  unitSize: number
  /** Units in flight at most, over all processes: per lane, and per company over its lanes of this kind. */
  laneCap: number
  companyCap: number
  /** Where the last claim ended its walk round the lanes; empty at first. */
  afterLane: string
  leaseMs: number
  /** The lanes to which the caps apply; every other lane has one unit of `narrowSize` jobs. Absent: all lanes. */
  wideLanes?: readonly string[] | undefined
  narrowSize?: number | undefined
}

export type Claimed = {
  /** In order of due time; jobs of one unit share a claim id. */
  jobs: Job[]
  /** Where the next claim goes on. */
  lastLane: string
  /** Whether every lane was looked at; if not, more may be due. */
  sawAll: boolean
  /** Whether due work was passed over because of a cap or for want of units. */
  sawFull: boolean
  /** Until the next job that was seen falls due. */
  nextDueInMs: number | undefined
}

/** Another time for a job: like a retry, with the marks that the worker sets. */
export type Rescheduling = Claim &
  Omit<Retry, 'outcome'> & {
    /** Keeps the lane closed until the job is due again: for kinds in order. */
    hold?: boolean
    /** Takes the job out of the way for good, to be listed by `listJobsSetAside`. */
    setAside?: boolean
  }

const LONGEST_ERROR = 500

/**
 * Puts jobs up within the caller's transaction and returns how many are new. A subject marked `once` that has a job
 * already is passed over, unless that job was set aside: then it starts afresh. Sends no notification: call
 * `worker.wake(kind)` after the commit.
 */
export async function enqueueJobs(db: Db, jobs: readonly NewJob[]): Promise<number> {
  if (jobs.length === 0) return 0
  const items = jobs.map((job) => ({
    kind: job.kind,
    lane: job.lane,
    company_id: job.companyId ?? null,
    subject_id: job.subjectId,
    once: job.once ?? false,
    due_at: job.dueAt?.toISOString() ?? null,
    due_in_ms: job.dueInMs ?? null,
  }))
  const [row] = await db<{ count: number }[]>`select enqueue_jobs(${db.json(items)}) as count`
  return row?.count ?? 0
}

type ClaimRow = Omit<Job, 'id' | 'kind' | 'companyId'> & {
  id: number | null
  companyId: number | null
  sawAll: boolean | null
  sawFull: boolean | null
  nextDueInMs: number | null
}

/** Claims jobs that are due under a lease, round the lanes and within the caps. One short transaction. */
export async function claimJobs(db: Db, request: ClaimRequest): Promise<Claimed> {
  const { kind, units, unitSize, laneCap, companyCap, afterLane, leaseMs, wideLanes, narrowSize = 1 } = request
  const [report, ...rows] = await db<ClaimRow[]>`
    select *
    from claim_jobs(
      ${kind}, ${units}::integer, ${unitSize}::integer, ${laneCap}::integer, ${companyCap}::integer,
      ${afterLane}, ${leaseMs}::integer, ${wideLanes ? [...wideLanes] : null}::text[], ${narrowSize}::integer
    )
  `
  return {
    jobs: rows.flatMap((row) => toJob(kind, row)),
    lastLane: report?.lane ?? '',
    sawAll: report?.sawAll ?? true,
    sawFull: report?.sawFull ?? false,
    nextDueInMs: report?.nextDueInMs ?? undefined,
  }
}

function toJob(kind: string, row: ClaimRow): Job[] {
  const { id, lane, companyId, subjectId, dueAt, attempts, claimId, createdAt } = row
  if (id === null) return []
  return [{ id, claimId, kind, lane, companyId: companyId ?? undefined, subjectId, dueAt, attempts, createdAt }]
}

const split = (claims: readonly Claim[]) => ({
  ids: claims.map(({ id }) => id),
  claimIds: claims.map((c) => c.claimId),
})

/** Ends jobs, also within a handler's transaction. Returns the ids of those that were still the caller's to end. */
export async function finishJobs(db: Db, claims: readonly Claim[]): Promise<Set<number>> {
  if (claims.length === 0) return new Set()
  const { ids, claimIds } = split(claims)
  const rows = await db<{ id: number }[]>`
    select id from finish_jobs(${ids}::bigint[], ${claimIds}::uuid[]) as id
  `
  return new Set(rows.map((row) => row.id))
}

/** Gives jobs another time, also within a handler's transaction. Returns the ids of those that were still the caller's. */
export async function rescheduleJobs(db: Db, reschedulings: readonly Rescheduling[]): Promise<Set<number>> {
  if (reschedulings.length === 0) return new Set()
  const items = reschedulings.map((one) => ({
    id: one.id,
    claim_id: one.claimId,
    at: one.at?.toISOString() ?? null,
    after_ms: one.afterMs ?? null,
    counts: one.counts,
    error: one.error === undefined ? null : cutError(one.error),
    hold: one.hold ?? false,
    set_aside: one.setAside ?? false,
  }))
  const rows = await db<{ id: number }[]>`select id from reschedule_jobs(${db.json(items)}) as id`
  return new Set(rows.map((row) => row.id))
}

/** The database takes neither NUL nor half a character. */
const cutError = (error: string): string => error.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed()

/** Gives jobs back unchanged, due at once. */
export async function returnJobs(db: Db, claims: readonly Claim[]): Promise<void> {
  const { ids, claimIds } = split(claims)
  await db`select return_jobs(${ids}::bigint[], ${claimIds}::uuid[])`
}

/** Renews leases; returns the ids of jobs that are another's by now. */
export async function renewJobs(db: Db, claims: readonly Claim[], leaseMs: number): Promise<Set<number>> {
  const { ids, claimIds } = split(claims)
  const rows = await db<{ id: number }[]>`
    select id from renew_jobs(${ids}::bigint[], ${claimIds}::uuid[], ${leaseMs}::integer) as id
  `
  return new Set(rows.map((row) => row.id))
}

/** Puts jobs whose lease ran out back; one that outlived `mostLapses` workers is set aside. Returns how many. */
export async function recoverJobs(db: Db, kinds: readonly string[], mostLapses: number): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select recover_jobs(${[...kinds]}::text[], ${mostLapses}::integer) as count
  `
  return row?.count ?? 0
}

export type JobSetAside = {
  id: number
  kind: string
  lane: string
  companyId: number | null
  subjectId: number
  attempts: number
  failedAt: Date
  lastError: string | null
}

/** Jobs that were given up, the latest first. */
export async function listJobsSetAside(db: Db, limit: number, kind?: string): Promise<JobSetAside[]> {
  return await db<JobSetAside[]>`
    select id, kind, lane, company_id, subject_id, attempts, failed_at, last_error
    from jobs
    where failed_at is not null and ${kind === undefined ? db`true` : db`kind = ${kind}`}
    order by failed_at desc, id desc
    limit ${limit}
  `
}

/** Lets jobs that were set aside begin afresh, due now. Returns how many. */
export async function reviveJobs(db: Db, ids: readonly number[]): Promise<number> {
  const rows = await db`
    update jobs
    set failed_at = null, attempts = 0, lapses = 0, due_at = now()
    where id = any(${[...ids]}::bigint[]) and failed_at is not null
    returning id
  `
  return rows.length
}
