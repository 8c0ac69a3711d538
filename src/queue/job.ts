import type { Db } from '../db/connect.ts'
import { areValuesRefused } from '../db/pool/failure.ts'
import { JOBS, type JobTable } from './job-table.ts'

export type NewJob = {
  kind: string
  /** Such as a registration or sender, whose backlog must not delay others. Belongs to at most one company. */
  lane: string
  companyId?: number
  subjectId: number
  /** At most one job of this kind per subject: further ones are skipped while it waits or runs. */
  once?: boolean
  dueAt?: Date
  dueInMs?: number
}

/** Void once the lease expired and another worker claimed the job. */
export type Claim = { id: number; claimId: string }

export type Job = Claim & {
  kind: string
  lane: string
  companyId: number | undefined
  subjectId: number
  dueAt: Date
  attempts: number
  createdAt: Date
}

/** Excludes lanes already using half of their room. */
export type DirectDispatch = {
  readonly kind: string
  readonly fullLanes: string[]
  readonly leaseMs: number
  readonly madeAtMs: number
}

/** Thrown for a job that can never succeed because of its own data. */
export class JobError extends Error {}

/** Database failures must never end a job. */
export const isCausedByJob = (error: unknown): boolean => error instanceof JobError || areValuesRefused(error)

export type Retry = {
  outcome: 'retry'
  /** A time, or a wait by the database's clock. */
  at?: Date
  afterMs?: number
  counts: boolean
  error?: string
}

/** `selfCompleted`: the handler ended or rescheduled the job in its own transaction. `released`: keeps its place. */
export type Outcome = { outcome: 'done' } | { outcome: 'selfCompleted' } | { outcome: 'released' } | Retry

export const done: Outcome = { outcome: 'done' }
export const released: Outcome = { outcome: 'released' }
export const selfCompleted: Outcome = { outcome: 'selfCompleted' }

type RetryOptions = { counts?: boolean; error?: string }

/** Retries at a time, and counts as a failed attempt. */
export const retryAt = (at: Date): Outcome => ({ outcome: 'retry', at, counts: true })

/** Retries after a wait, by the database's clock. Counts as a failed attempt unless `counts` is false. */
export const retryAfter = (afterMs: number, { counts = true, ...options }: RetryOptions = {}): Outcome => ({
  outcome: 'retry',
  afterMs,
  counts,
  ...options,
})

type Caps = {
  kind: string
  table?: JobTable
  /** Over all processes. A batch is one job unless `batch` is set. */
  laneCap: number
  companyCap?: number
  concurrency?: number
  /** Counts only runs that fail on the job's own data; others are retried without limit. */
  maxAttempts?: number
  /** Expired leases before the job fails, since it may be what kills its workers. */
  maxLeaseExpiries?: number
  backoff?: Backoff
  /** Needs a lane cap of 1: a retried job keeps its lane closed, so nothing overtakes it. */
  ordered?: boolean
  /** Called with jobs that ended as `done`, once written. Must not throw. */
  onDone?(jobs: readonly Job[]): void | Promise<void>
}

export type SingleKind = Caps & {
  batch?: undefined
  lanes?: undefined
  handle(job: Job, signal: AbortSignal): Promise<Outcome>
}

/** Handles up to `batch` jobs of a lane, with an outcome for each. After a throw, runs them one by one. */
export type BatchKind = Caps & {
  batch: number
  /** Replaces the claim of `jobs`, for lanes with bounds of their own. */
  lanes?: LaneClaim
  handle(jobs: readonly Job[], signal: AbortSignal): Promise<readonly Outcome[]>
}

/** Concurrent batches to fill; the walk begins after this lane. */
export type ClaimRoom = { batches: number; afterLane: string; leaseMs: number }

export type Claimed = {
  /** Ordered by due time; jobs of one batch share a claim id. */
  jobs: Job[]
  /** A batch of this size may leave due jobs in its lane. */
  fullBatch: number
  lastLane: string
  /** False if the walk stopped early, so more may be due. */
  sawAll: boolean
  /** Whether due work was skipped because of a cap or the batch limit. */
  sawFull: boolean
  nextDueInMs: number | undefined
}

type LaneClaim = {
  claim(db: Db, room: ClaimRoom): Promise<Claimed>
  /** Maximum jobs in flight. */
  roomOf(lane: string): number
}

export type JobKind = SingleKind | BatchKind

export const tableOf = ({ table = JOBS }: Pick<Caps, 'table'>): JobTable => table

const NO_CAP = 2_147_483_647
const CONCURRENCY = 50
const MAX_ATTEMPTS = 10
const MAX_LEASE_EXPIRIES = 10

type Limits = Required<
  Pick<Caps, 'laneCap' | 'companyCap' | 'concurrency' | 'maxAttempts' | 'maxLeaseExpiries' | 'backoff' | 'ordered'>
>

/** Fills in defaults. Throws on a contradiction, which is a programming error. */
export function limitsOf(kind: JobKind): Limits {
  if (kind.ordered && kind.laneCap !== 1) throw new Error(`${kind.kind}: an ordered kind needs a lane cap of 1`)
  return {
    laneCap: kind.laneCap,
    companyCap: kind.companyCap ?? NO_CAP,
    concurrency: kind.concurrency ?? CONCURRENCY,
    maxAttempts: kind.maxAttempts ?? MAX_ATTEMPTS,
    maxLeaseExpiries: kind.maxLeaseExpiries ?? MAX_LEASE_EXPIRIES,
    backoff: kind.backoff ?? DEFAULT_BACKOFF,
    ordered: kind.ordered ?? false,
  }
}

export type Backoff = {
  baseMs: number
  factor: number
  capMs: number
  /** Maximum share of the wait added at random, so that joint failures do not return together. */
  jitter: number
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 1_000, factor: 2, capMs: 5 * 60_000, jitter: 0.1 }

/** Returns the wait in milliseconds after the given failure, counted from 1; `random` is from 0 to 1. */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  const wait = Math.min(backoff.baseMs * backoff.factor ** (failures - 1), backoff.capMs)
  return Math.round(wait * (1 + backoff.jitter * random))
}
