import { type Db, type Fragment, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import type { Claim, NewJob, Retry } from './job.ts'
import { isAmongPartitions, isExpired, JOBS, type JobTable, NO_WORKER } from './job-table.ts'

export type Rescheduling = Claim &
  Omit<Retry, 'outcome'> & {
    /** Keeps the lane closed until the job is due again. */
    hold?: boolean
    fail?: boolean
  }

const LONGEST_ERROR = 500

/**
 * Enqueues jobs; returns how many are new. A `once` subject's failed job is revived. Call `worker.wake(kind)` after
 * commit.
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

type IdRow = { id: number }
const idsOf = (rows: readonly IdRow[]): Set<number> => new Set(rows.map(({ id }) => id))

/**
 * Companies may share a job id, but a claim has one company. Arrays instead of JSON:
 * docs/decisions/0008-rows-as-json.md.
 */
function isHeld(table: JobTable, claims: readonly Claim[]): Fragment {
  const ids = claims.map(({ id }) => id)
  const claimIds = claims.map(({ claimId }) => claimId)
  return sql`
    job.id = any (${ids}::bigint[]) and ${isAmongPartitions(table, ids)}
    and job.claim_id = any (
      array(select (${claimIds}::uuid[])[place] from unnest(array_positions(${ids}::bigint[], job.id)) as place)
    )
  `
}

/** Ends jobs, also within a handler's transaction. Returns the ids still held by the caller. */
export async function completeJobs(db: Db, claims: readonly Claim[], table: JobTable = JOBS): Promise<Set<number>> {
  if (claims.length === 0) return new Set()
  return idsOf(await db<IdRow[]>`${table.finish} where ${isHeld(table, claims)} returning job.id`)
}

/** Reschedules jobs, also within a handler's transaction. Returns the ids still held by the caller. */
export async function rescheduleJobs(
  db: Db,
  items: readonly Rescheduling[],
  table: JobTable = JOBS,
): Promise<Set<number>> {
  if (items.length === 0) return new Set()
  const ids = items.map(({ id }) => id)
  const rows = items.map(({ error, ...item }) => ({ ...item, error: error === undefined ? null : boundError(error) }))
  const rescheduled = await db<IdRow[]>`
    with input as materialized (
      select *
      from ${inputRows(rows, {
        bigint: ['id'],
        uuid: ['claimId'],
        timestamptz: ['at'],
        'double precision': ['afterMs'],
        boolean: ['counts', 'hold', 'fail'],
        text: ['error'],
      })}
    )
    update ${table.name} job
    set (due_at, claim_id, lease_until, ${table.failures}, lease_expiries, failed_at, last_error) = (
      select
        case when later.is_held then job.due_at else later.due_at end,
        case when later.is_held then ${NO_WORKER}::uuid end,
        case when later.is_held then later.due_at end,
        job.${table.failures} + later.counts::integer,
        0,
        case when later.fail then clock_timestamp() end,
        coalesce(later.error, job.last_error)
      from (
        select
          coalesce(input.at, clock_timestamp() + coalesce(input.after_ms, 0) * interval '1 ms') as due_at,
          input.counts, input.error, coalesce(input.fail, false) as fail,
          coalesce(input.hold, false) and not coalesce(input.fail, false) as is_held
        from input
        where (input.id, input.claim_id) = (job.id, job.claim_id)
        limit 1
      ) as later
    )
    -- The list of ids bounds what a plan reads that was built while the table was empty.
    where job.id = any (array(select input.id from input)) and ${isAmongPartitions(table, ids)}
      and exists (select from input where (input.id, input.claim_id) = (job.id, job.claim_id))
    returning job.id
  `
  return idsOf(rescheduled)
}

/** PostgreSQL rejects NUL and lone surrogates. */
const boundError = (error: string): string => error.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed()

/** Returns claimed jobs unchanged, due at once. */
export async function releaseJobs(db: Db, claims: readonly Claim[], table: JobTable = JOBS): Promise<void> {
  await db`update ${table.name} job set claim_id = null, lease_until = null where ${isHeld(table, claims)}`
}

/**
 * Renews leases; returns the lost claims, whose jobs the caller must stop, but no job just being completed. claimJobs
 * ends jobs for removed companies.
 */
export async function renewJobs(
  db: Db,
  claims: readonly Claim[],
  leaseMs: number,
  table: JobTable = JOBS,
): Promise<Set<string>> {
  const ids = claims.map(({ id }) => id)
  const lost = await db<{ claimId: string }[]>`
    with mine as materialized (
      select job.id, job.claim_id from ${table.name} job where ${isHeld(table, claims)} for update of job skip locked
    ),
    renewed as (
      update ${table.name} job
      set lease_until = clock_timestamp() + ${leaseMs}::integer * interval '1 ms'
      where job.id = any (array(select mine.id from mine)) and ${isAmongPartitions(table, ids)}
        and job.claim_id = any (array(select mine.claim_id from mine))
        -- a renewal that a crash of the server forgets is a job that is claimed again
        and (select set_config('synchronous_commit', 'off', true)) = 'off'
    )
    select one.claim_id
    from unnest(${ids}::bigint[], ${claims.map(({ claimId }) => claimId)}::uuid[]) as one (id, claim_id)
    cross join lateral (
      select job.id, job.claim_id, job.company_id
      from ${table.name} job
      where job.id = one.id and ${table.isOpen}
      order by job.claim_id is not distinct from one.claim_id desc -- another company may know the id
      limit 1
    ) as held
    where held.claim_id is distinct from one.claim_id
      or exists (select from companies company where company.id = held.company_id and company.deleted_at is not null)
  `
  return new Set(lost.map(({ claimId }) => claimId))
}

/** Requeues jobs with expired leases. Jobs that outlived `maxLeaseExpiries` workers fail: they may be what kills them. */
export async function recoverJobs(
  db: Db,
  kinds: readonly string[],
  maxLeaseExpiries: number,
  table: JobTable = JOBS,
): Promise<number> {
  const isWithin = table.isWithin(await table.openPartitions(db))
  const { count } = await db`
    with expired as materialized (
      select job.id, job.claim_id
      from unnest(${[...kinds]}::text[]) as one (kind)
      cross join lateral (
        select job.id, job.claim_id
        from ${table.name} job
        where ${table.isOfKind(sql`one.kind`)} and ${isExpired} and ${isWithin}
        for update of job skip locked
      ) as job
    )
    update ${table.name} job
    set (claim_id, lease_until, lease_expiries, failed_at, last_error) = (
      select
        null::uuid,
        null::timestamptz,
        expiries,
        case when expiries >= ${maxLeaseExpiries}::integer then clock_timestamp() end,
        case when expiries >= ${maxLeaseExpiries}::integer
          then 'The lease expired ' || expiries || ' times'
          else job.last_error
        end
      from (select job.lease_expiries + (job.claim_id <> ${NO_WORKER}::uuid)::integer as expiries) as counted
    )
    where job.id = any (array(select expired.id from expired)) and ${isWithin}
      and job.claim_id = any (array(select expired.claim_id from expired)) and job.lease_until <= now()
  `
  return count
}

export type FailedJob = {
  id: number
  kind: string
  lane: string
  companyId: number | null
  subjectId: number
  attempts: number
  failedAt: Date
  lastError: string | null
}

/** Lists up to `limit` failed jobs, latest first. */
export async function listFailedJobs(
  db: Db,
  limit: number,
  kind: string | null = null,
  table: JobTable = JOBS,
): Promise<FailedJob[]> {
  return await db<FailedJob[]>`
    select
      job.id, ${table.kind} as kind, job.lane, job.company_id, ${table.subject} as subject_id,
      job.${table.failures} as attempts, job.failed_at, job.last_error
    from ${table.name} job
    where job.failed_at is not null and (${kind}::text is null or ${table.isOfKind(sql`${kind}::text`)})
    order by job.failed_at desc, job.id desc
    limit ${limit}::integer
  `
}

/** Revives a failed job, due now; returns false when the company has none with this id. */
export async function retryJob(db: Db, companyId: number | null, id: number, table: JobTable = JOBS): Promise<boolean> {
  const { count } = await db`
    update ${table.name} job
    set failed_at = null, ${table.failures} = 0, lease_expiries = 0, due_at = now()
    where job.id = ${id}::bigint and job.company_id is not distinct from ${companyId}::bigint and job.failed_at is not null
  `
  return count > 0
}

/** Lists companies with a failed job of this id; null for a job without company. */
export async function companiesOfFailedJob(db: Db, id: number, table: JobTable = JOBS): Promise<(number | null)[]> {
  const rows = await db<{ companyId: number | null }[]>`
    select job.company_id from ${table.name} job
    where job.id = ${id}::bigint and job.failed_at is not null
    order by job.company_id
  `
  return rows.map(({ companyId }) => companyId)
}

/** Makes waiting and failed jobs of a lane due at once, without their last error. */
export async function hastenJobs(
  db: Db,
  companyId: number,
  kind: string,
  lane: string,
  subjectIds: readonly number[],
): Promise<void> {
  await db`
    update jobs
    set due_at = now(), last_error = null
    where kind = ${kind} and lane = ${lane} and company_id = ${companyId} and claim_id is null and failed_at is null
      and subject_id = any(${[...subjectIds]}::bigint[])
  `
  await db`
    delete from jobs
    where kind = ${kind} and company_id = ${companyId} and failed_at is not null
      and subject_id = any(${[...subjectIds]}::bigint[])
  `
}

/** An unanswered statement must not stop a worker loop. */
const STATEMENT_MS = 10_000

/** Rejects after `deadlineMs`; drops a later result. */
export async function withStatementTimeout<T>(work: Promise<T>, deadlineMs: number = STATEMENT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`The database gave no answer in ${deadlineMs} ms`)), deadlineMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
