import type { Db } from '../db/connect.ts'

/** The partitions that a statement looks at, by their numbers; an end is included. 0 to 0 in a table without partitions. */
export type PartitionRange = { first: number; last: number }

/**
 * A table of leased jobs (docs/decisions/0001-leased-jobs.md). It has the columns `id`, `lane`, `company_id`, `due_at`,
 * `lease_expiries`, `claim_id`, `lease_until`, `failed_at`, `last_error` and `created_at` of `jobs`, and indexes like those of `jobs`.
 * The texts are parts of statements that are built once for each table; `job` is the row.
 */
export type JobTable = {
  name: string
  /** The kind of a row. */
  kind: string
  /** The condition that a row is of a kind. */
  isOfKind: (kind: string) => string
  /** The condition that a row is not finished and not failed: the first part of the predicate of the index of waiting rows. */
  isOpen: string
  /** The row that the job is about. */
  subject: string
  /** The column that counts the failed runs of a handler. */
  failures: string
  /** Ends rows that need no more work; a `where` clause follows. */
  finish: string
  /**
   * Within a lane, due rows of the first rank go before those of the next. Each is a condition that holds for the rows of
   * one rank alone, as the index of waiting rows has it.
   */
  ranks: readonly string[]
  /** The order of the index of waiting rows. */
  order: string
  /** The condition that a row is in these partitions. */
  isWithin: (first: string, last: string) => string
  /** The partition of an id. */
  partitionOf: (id: number) => number
  /** The partitions that have rows that wait or are leased. Asked about once a second. */
  openPartitions(db: Db): Promise<PartitionRange>
}

/** Every kind of job that has no table of its own. */
export const JOBS: JobTable = {
  name: 'jobs',
  kind: 'job.kind',
  isOfKind: (kind) => `job.kind = ${kind}`,
  isOpen: 'job.failed_at is null',
  subject: 'job.subject_id',
  failures: 'attempts',
  finish: 'delete from jobs job',
  ranks: ['true'],
  order: 'job.lane, job.due_at, job.id',
  isWithin: (first, last) => `${first} <= ${last}`,
  partitionOf: () => 0,
  openPartitions: async () => ({ first: 0, last: 0 }),
}

/** The condition that a row waits to be claimed, as the index of waiting rows has it. */
export const isWaiting = (table: JobTable): string => `job.claim_id is null and ${table.isOpen}`

/**
 * The condition that a row is leased until before or after a time. As a range: the planner takes a third of all rows for what
 * one limit matches, and then reads the whole table instead of the index of leased rows.
 */
export const isLeased = (than: '>' | '<=', time: string): string =>
  `job.lease_until ${than} ${time} and job.lease_until ${than === '>' ? "< 'infinity'" : "> '-infinity'"}`

/** The range of partitions that holds the rows with these ids: a statement reads no others. */
export function partitionsOf(table: JobTable, ids: readonly number[]): PartitionRange {
  const partitions = ids.map(table.partitionOf)
  return {
    first: partitions.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
    last: partitions.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY),
  }
}

/** The claim id of no worker: a job that waits at the head of an ordered lane has it (see rescheduleJobs). */
export const NO_WORKER = '00000000-0000-0000-0000-000000000000'

/** A statement that is built once for each table. */
export function perTable(build: (table: JobTable) => string): (table: JobTable) => string {
  const built = new Map<JobTable, string>()
  return (table) => {
    const statement = built.get(table) ?? build(table)
    built.set(table, statement)
    return statement
  }
}
