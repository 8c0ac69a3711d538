import { type Db, type Fragment, sql } from '../db/connect.ts'

/** Inclusive. */
export type PartitionRange = { first: number; last: number }

/**
 * A table of leased jobs with the columns and indexes of `jobs` (docs/decisions/0001-leased-jobs.md). Statements call its
 * rows `job`.
 */
export type JobTable = {
  name: Fragment
  kind: Fragment
  isOfKind: (kind: Fragment) => Fragment
  /** Must match the first part of the waiting index's predicate. */
  isOpen: Fragment
  subject: Fragment
  failures: Fragment
  /** Ends rows; a `where` clause follows. */
  finish: Fragment
  /** Within a lane, due rows of earlier ranks run first. Must match the waiting index. */
  ranks: readonly [Fragment, ...Fragment[]]
  /** By lane, then as a lane's jobs run. Must match the waiting index. */
  order: Fragment
  isWithin: (partitions: PartitionRange) => Fragment
  partitionOf: (id: number) => number
  /** Called about once a second. */
  openPartitions(db: Db): Promise<PartitionRange>
}

export const JOBS: JobTable = {
  name: sql`jobs`,
  kind: sql`job.kind`,
  isOfKind: (kind) => sql`job.kind = ${kind}`,
  isOpen: sql`job.failed_at is null`,
  subject: sql`job.subject_id`,
  failures: sql`attempts`,
  finish: sql`delete from jobs job`,
  ranks: [sql`true`],
  order: sql`job.lane, job.due_at, job.id`,
  isWithin: () => sql`true`,
  partitionOf: () => 0,
  openPartitions: async () => ({ first: 0, last: 0 }),
}

/** Must match the predicate of the waiting index. */
export const isWaiting = ({ isOpen }: Pick<JobTable, 'isOpen'>): Fragment => sql`job.claim_id is null and ${isOpen}`

/** A single bound would be estimated at a third of all rows, and scan the whole table. */
export const isLeasedBeyond = (time: Fragment): Fragment =>
  sql`job.lease_until > ${time} and job.lease_until < 'infinity'`
export const isExpired = sql`job.lease_until <= now() and job.lease_until > '-infinity'`

export const isAmongPartitions = ({ isWithin, partitionOf }: JobTable, ids: readonly number[]): Fragment => {
  const partitions = ids.map(partitionOf)
  return isWithin({
    first: partitions.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
    last: partitions.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY),
  })
}

/** Marks a waiting job that heads an ordered lane (see rescheduleJobs). */
export const NO_WORKER = '00000000-0000-0000-0000-000000000000'
