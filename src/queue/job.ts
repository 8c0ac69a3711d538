import { areValuesRefused } from '../db/pool/failure.ts'

/** A job to enqueue. Without `dueAt` or `dueInMs` it is due at once. */
export type NewJob = {
  kind: string
  /**
   * The key whose backlog must not delay others, such as a registration or a sender. A lane belongs to one company or
   * to none.
   */
  lane: string
  companyId?: number
  /** The row that the job is about. */
  subjectId: number
  /** The subject has at most one job of this kind: while it waits or runs, another is passed over. */
  once?: boolean
  dueAt?: Date
  dueInMs?: number
}

/** The right to finish a job: void once the lease ran out and another took the job. */
export type Claim = { id: number; claimId: string }

/** A job that a worker holds the lease of. */
export type Job = Claim & {
  kind: string
  lane: string
  companyId: number | undefined
  subjectId: number
  dueAt: Date
  /** Failed runs before this one. */
  attempts: number
  createdAt: Date
}

/**
 * Which jobs a worker takes without a claim: jobs that are just being enqueued may be leased to it from the start, but none
 * of lanes and companies that have half of what they may have in flight.
 */
export type DirectDispatch = {
  readonly kind: string
  readonly fullLanes: string[]
  readonly fullCompanies: number[]
  readonly leaseMs: number
  readonly madeAtMs: number
}

/** Thrown for a job that can never succeed because of its own data. */
export class JobError extends Error {}

/** Whether a job's own data caused an error. Only such errors may end a job: a database that fails is not its fault. */
export const isCausedByJob = (error: unknown): boolean => error instanceof JobError || areValuesRefused(error)

/** A run that ended without ending the job. */
export type Retry = {
  outcome: 'retry'
  /** Either a time, or a wait from now by the database's clock. */
  at?: Date
  afterMs?: number
  /** Whether this run counts in `job.attempts`. */
  counts: boolean
  error?: string
}

/**
 * How a run ended. `done`: the worker deletes the job. `selfCompleted`: the handler has completed or rescheduled the job itself,
 * in a transaction of its own. `released`: the job did not run; it keeps its place in the lane.
 */
export type Outcome = { outcome: 'done' } | { outcome: 'selfCompleted' } | { outcome: 'released' } | Retry

export const done: Outcome = { outcome: 'done' }
export const released: Outcome = { outcome: 'released' }
export const selfCompleted: Outcome = { outcome: 'selfCompleted' }

/** Runs the job again at a time. The run counts as a failed attempt unless `counts` is false. */
export const retryAt = (at: Date, options: { counts?: boolean; error?: string } = {}): Outcome => ({
  outcome: 'retry',
  at,
  ...options,
  counts: options.counts ?? true,
})

/**
 * Runs the job again after some ms of the database's clock. The run counts as a failed attempt unless `counts` is
 * false.
 */
export const retryAfter = (afterMs: number, options: { counts?: boolean; error?: string } = {}): Outcome => ({
  outcome: 'retry',
  afterMs,
  ...options,
  counts: options.counts ?? true,
})
