import type { Db } from '../db/connect.ts'

/** Inclusive. */
export type PartitionRange = { first: number; last: number }

/**
 * A table of leased jobs with the columns and indexes of `jobs` (docs/decisions/0001-leased-jobs.md), as SQL fragments.
 */
export type JobTable = {
  name: string
  kind: string
  isOfKind: (kind: string) => string
  /** Must match the first part of the waiting index's predicate. */
  isOpen: string
  subject: string
  failures: string
  /** Ends rows; a `where` clause follows. */
  finish: string
  /** Within a lane, due rows of earlier ranks run first. Must match the waiting index. */
  ranks: readonly string[]
  order: string
  isWithin: (first: string, last: string) => string
  partitionOf: (id: number) => number
  /** Called about once a second. */
  openPartitions(db: Db): Promise<PartitionRange>
}

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

/** Must match the predicate of the waiting index. */
export const isWaiting = (table: JobTable): string => `job.claim_id is null and ${table.isOpen}`

/** A single bound would be estimated at a third of all rows, and scan the whole table. */
export const isLeased = (than: '>' | '<=', time: string): string =>
  `job.lease_until ${than} ${time} and job.lease_until ${than === '>' ? "< 'infinity'" : "> '-infinity'"}`

export function partitionsOf(table: JobTable, ids: readonly number[]): PartitionRange {
  const partitions = ids.map(table.partitionOf)
  return {
    first: partitions.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
    last: partitions.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY),
  }
}

/** Marks a waiting job that heads an ordered lane (see rescheduleJobs). */
export const NO_WORKER = '00000000-0000-0000-0000-000000000000'

export function perTable(build: (table: JobTable) => string): (table: JobTable) => string {
  const built = new Map<JobTable, string>()
  return (table) => {
    const statement = built.get(table) ?? build(table)
    built.set(table, statement)
    return statement
  }
}
