import type { Db } from '../../db/connect.ts'
import { isLockTimeout } from '../../db/pool/failure.ts'
import { refreshed } from '../../platform/cache.ts'
import type { PartitionRange } from '../../queue/job-table.ts'

/** Creates and drops partitions (decisions: Retention). A lock timeout leaves a drop to the next call. */
export async function maintainDeliveryDays(db: Db, keepDays: number): Promise<void> {
  await makeDeliveryDays(db)
  try {
    while (await dropDeliveryDay(db, keepDays)) {
      // One partition per transaction keeps locks short.
    }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
}

/** The service can be stopped this long without running out of partitions. */
const DAYS_AHEAD = 7
const FRESH_MS = 1_000

const readers = new WeakMap<Db, () => PartitionRange | Promise<PartitionRange>>()

/**
 * Returns the days (since 1970) that claims and expiry must scan: from the oldest open delivery to tomorrow. Cached for one
 * second per pool, so redelivery of an older day may start a second late. The sort orders select the partial indexes; other
 * plans read every finished row.
 */
export async function openDays(db: Db): Promise<PartitionRange> {
  const read = readers.get(db) ?? refreshed(() => readOpenDays(db), FRESH_MS)
  readers.set(db, read)
  return await read()
}

async function readOpenDays(db: Db): Promise<PartitionRange> {
  const [row] = await db<[PartitionRange]>`
    select coalesce(min(open.day), today.day) as first, today.day + 1 as last
    from (select (now() at time zone 'UTC')::date - date '1970-01-01' as day) as today
    left join lateral (
      select partition.day
      from (
        select to_date(right(child.relname, 8), 'YYYYMMDD') - date '1970-01-01' as day
        from pg_inherits
        join pg_class child on child.oid = pg_inherits.inhrelid
        where pg_inherits.inhparent = 'deliveries'::regclass
      ) as partition
      where partition.day <= today.day
        and (
          (
            select true from deliveries job
            where job.day = partition.day and job.status = 'pending' and job.failed_at is null and job.claim_id is null
              and job.waits_for is null
            order by job.lane, least(job.attempts, 1) desc, job.due_at, job.id
            limit 1
          )
          or (
            select true from deliveries job
            where job.day = partition.day and job.lease_until is not null
            order by job.lease_until
            limit 1
          )
          or (
            select true from deliveries job
            where job.day = partition.day and job.failed_at is not null
            order by job.failed_at
            limit 1
          )
        )
      order by partition.day
      limit 1
    ) as open on true
    group by today.day
  `
  return row
}

export async function makeDeliveryDays(db: Db): Promise<number> {
  const [row] = await db<[{ created: number }]>`select make_delivery_days(${DAYS_AHEAD}::integer) as created`
  return row.created
}

/**
 * Drops the oldest partition older than `keepDays`; returns false without one.
 * @throws database error 55P03 after 30 ms of waiting for a lock: try again later
 */
async function dropDeliveryDay(db: Db, keepDays: number): Promise<boolean> {
  const [row] = await db<[{ dropped: boolean }]>`select drop_delivery_day(${keepDays}::integer) as dropped`
  return row.dropped
}
