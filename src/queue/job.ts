import { areValuesRefused } from '../db/pool/failure.ts'

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

/** Excludes lanes and companies already using half of their room. */
export type DirectDispatch = {
  readonly kind: string
  readonly fullLanes: string[]
  readonly fullCompanies: number[]
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

/** Retries at a time. Counts as a failed attempt unless `counts` is false. */
export const retryAt = (at: Date, options: { counts?: boolean; error?: string } = {}): Outcome => ({
  outcome: 'retry',
  at,
  ...options,
  counts: options.counts ?? true,
})

/** Waits by the database's clock. Counts as a failed attempt unless `counts` is false. */
export const retryAfter = (afterMs: number, options: { counts?: boolean; error?: string } = {}): Outcome => ({
  outcome: 'retry',
  afterMs,
  ...options,
  counts: options.counts ?? true,
})
