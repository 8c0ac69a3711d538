import type { Db } from '../db/connect.ts'
import { type Backoff, DEFAULT_BACKOFF } from './backoff.ts'
import type { Claimed, ClaimRoom } from './claim/run-claim.ts'
import type { Job, Outcome } from './job.ts'
import { JOBS, type JobTable } from './job-table.ts'

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

/** Handles up to `batch` jobs in order, with one outcome for all or one each. After a throw, runs them one by one. */
export type BatchKind = Caps & {
  batch: number
  /** Replaces the claim of `jobs`, for lanes with bounds of their own. */
  lanes?: LaneClaim
  handle(jobs: readonly Job[], signal: AbortSignal): Promise<Outcome | readonly Outcome[]>
}

export type LaneClaim = {
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

export type Limits = Required<
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
