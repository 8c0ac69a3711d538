import { type Db, jsonRows } from '../db/connect.ts'
import type { Claim, NewJob, Retry } from './job.ts'
import { JOBS, type JobTable, partitionsOf } from './job-table.ts'
import {
  completeStatement,
  failedCompaniesStatement,
  failedStatement,
  recoverStatement,
  renewStatement,
  rescheduleStatement,
  returnStatement,
  reviveStatement,
} from './statements/job-statements.ts'

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

function toHeld(table: JobTable, claims: readonly Claim[]) {
  const ids = claims.map(({ id }) => id)
  const { first, last } = partitionsOf(table, ids)
  return [ids, claims.map(({ claimId }) => claimId), first, last]
}

type IdRow = { id: number }
const prepare = { prepare: true }
const idsOf = (rows: readonly IdRow[]): Set<number> => new Set(rows.map(({ id }) => id))

/** Ends jobs, also within a handler's transaction. Returns the ids still held by the caller. */
export async function completeJobs(db: Db, claims: readonly Claim[], table: JobTable = JOBS): Promise<Set<number>> {
  if (claims.length === 0) return new Set()
  return idsOf(await db.unsafe<IdRow[]>(completeStatement(table), toHeld(table, claims), prepare))
}

/** Reschedules jobs, also within a handler's transaction. Returns the ids still held by the caller. */
export async function rescheduleJobs(
  db: Db,
  items: readonly Rescheduling[],
  table: JobTable = JOBS,
): Promise<Set<number>> {
  if (items.length === 0) return new Set()
  const { first, last } = partitionsOf(
    table,
    items.map(({ id }) => id),
  )
  const rows = jsonRows(db, items.map(toReschedulingRow))
  return idsOf(await db.unsafe<IdRow[]>(rescheduleStatement(table), [rows, first, last], prepare))
}

const toReschedulingRow = (item: Rescheduling) => ({
  id: item.id,
  claim_id: item.claimId,
  due_at: item.at?.toISOString() ?? null,
  wait_ms: item.afterMs ?? null,
  counts: item.counts,
  error: item.error === undefined ? null : boundError(item.error),
  hold: item.hold ?? false,
  fail: item.fail ?? false,
})

/** PostgreSQL rejects NUL and lone surrogates. */
const boundError = (error: string): string => error.replaceAll('\0', '').slice(0, LONGEST_ERROR).toWellFormed()

/** Returns claimed jobs unchanged, due at once. */
export async function releaseJobs(db: Db, claims: readonly Claim[], table: JobTable = JOBS): Promise<void> {
  await db.unsafe(returnStatement(table), toHeld(table, claims), prepare)
}

/** Renews leases; returns the lost claims, whose jobs the caller must stop. */
export async function renewJobs(
  db: Db,
  claims: readonly Claim[],
  leaseMs: number,
  table: JobTable = JOBS,
): Promise<Set<string>> {
  const parameters = [...toHeld(table, claims), leaseMs]
  const lost = await db.unsafe<{ claimId: string }[]>(renewStatement(table), parameters, prepare)
  return new Set(lost.map(({ claimId }) => claimId))
}

/** Requeues jobs with expired leases, failing those that outlived `maxLeaseExpiries` workers. */
export async function recoverJobs(
  db: Db,
  kinds: readonly string[],
  maxLeaseExpiries: number,
  table: JobTable = JOBS,
): Promise<number> {
  const { first, last } = await table.openPartitions(db)
  const { count } = await db.unsafe(recoverStatement(table), [[...kinds], maxLeaseExpiries, first, last], prepare)
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
  return await db.unsafe<FailedJob[]>(failedStatement(table), [kind, limit])
}

/** Revives a failed job, due now; returns false when the company has none with this id. */
export async function retryJob(db: Db, companyId: number | null, id: number, table: JobTable = JOBS): Promise<boolean> {
  const { count } = await db.unsafe(reviveStatement(table), [companyId, id])
  return count > 0
}

/** Lists companies with a failed job of this id; null for a job without company. */
export async function companiesOfFailedJob(db: Db, id: number, table: JobTable = JOBS): Promise<(number | null)[]> {
  const rows = await db.unsafe<{ companyId: number | null }[]>(failedCompaniesStatement(table), [id])
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
