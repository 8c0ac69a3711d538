import { type Backoff, DEFAULT_BACKOFF } from './backoff.ts'
import type { Job, Outcome } from './job.ts'
import { JOBS, type JobTable } from './job-table.ts'

type Caps = {
  kind: string
  /** Where the jobs of this kind are; absent: `jobs`. */
  table?: JobTable
  /** Batches of one lane in flight at most (a batch is one job unless `batch` is set), over all processes. */
  laneCap: number
  /** Batches of one company in flight at most, over its lanes of this kind and all processes. Absent: no cap. */
  companyCap?: number
  /** Batches in flight in this process at most. */
  concurrency?: number
  /** Runs that may throw because of the job's own data before it fails; after any other error it is always run again. */
  maxAttempts?: number
  /** Leases that may expire before the job fails, since it may be what kills its workers. */
  maxLeaseExpiries?: number
  /** Waits after runs that threw. */
  backoff?: Backoff
  /** With a lane cap of 1: a job that has to be retried keeps its lane closed, so that nothing overtakes it. */
  ordered?: boolean
  /** Called with jobs whose outcome was `done`, once the database has it. Must not throw. */
  onDone?(jobs: readonly Job[]): void | Promise<void>
}

/** Work on one job at a time, many at once. `signal` ends the work when the lease is lost or the worker stops. */
export type SingleKind = Caps & {
  batch?: undefined
  narrow?: undefined
  handle(job: Job, signal: AbortSignal): Promise<Outcome>
}

/**
 * Work on up to `batch` jobs of one lane in order. One outcome for all, or one for each in the same order. When the
 * call throws for several jobs, they are run again one by one, so that one bad job does not take the others with it.
 */
export type BatchKind = Caps & {
  batch: number
  /**
   * Limits the lanes that are not known to be quick: the lane cap and the batch apply to the lanes that `wideLanes` names, as
   * this process knows them (some hundred at most), and these bounds to every other lane.
   */
  narrow?: NarrowBounds & {
    wideLanes(): ReadonlySet<string>
    /** How many jobs the next claim may take of some of the other lanes. Absent: the bounds alone count. */
    laneRooms?(): ReadonlyMap<string, number>
  }
  handle(jobs: readonly Job[], signal: AbortSignal): Promise<Outcome | readonly Outcome[]>
}

/** Bounds of lanes that are not known to be quick, over all processes. */
export type NarrowBounds = {
  /** Jobs that are claimed together. */
  batch: number
  /** Jobs of one lane in flight. */
  jobsOfLane: number
  /** Jobs of all these lanes in flight, which the companies share, and within a company its lanes: at least one each. */
  jobs: number
}

export type JobKind = SingleKind | BatchKind

/** The table that the jobs of a kind are in; `jobs` unless the kind names one. */
export const tableOf = ({ table = JOBS }: Pick<Caps, 'table'>): JobTable => table

const NO_CAP = 2_147_483_647
const CONCURRENCY = 50
const MAX_ATTEMPTS = 10
const MAX_LEASE_EXPIRIES = 10

export type Limits = Required<
  Pick<Caps, 'laneCap' | 'companyCap' | 'concurrency' | 'maxAttempts' | 'maxLeaseExpiries' | 'backoff' | 'ordered'>
>

/** The limits of a kind with what it left open filled in; throws on a contradiction, which is a fault of the program. */
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
