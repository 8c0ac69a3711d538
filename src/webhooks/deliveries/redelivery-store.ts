import { type Db, sql } from '../../db/connect.ts'

export type RedeliveryRange = { since: Date; until: Date; onlyDeadLettered: boolean }

type FinishedStatus = 'delivered' | 'dead' | 'skipped'

/** A batch of the deliveries of a range; `next` is the id of its last one, undefined when no batch follows. */
export type RedeliveryBatch = { count: number; next: number | undefined }

/** Makes a finished delivery due again, with five new attempts; false when it is pending, or missing. */
export async function renewDelivery(db: Db, companyId: number, deliveryId: number): Promise<boolean> {
  const { count } = await db`
    update deliveries
    set
      status = 'pending', round = round + 1, attempts = 0, faults = 0, lease_expiries = 0, due_at = now(), renewed_at = now()
    where company_id = ${companyId} and id = ${deliveryId} and day = ${deliveryId}::bigint / 1000000000
      and status <> 'pending' and event_id not like 'erased:%'
  `
  return count > 0
}

/**
 * Makes the next `limit` deliveries of a registration that were made within the range and are finished due again, in the order
 * of their ids, after the id `after`. A range of any size is walked in steps, so that no transaction grows with it.
 */
export async function renewDeliveries(
  db: Db,
  companyId: number,
  registrationId: number,
  range: RedeliveryRange,
  after: number | undefined,
  limit: number,
): Promise<RedeliveryBatch> {
  const [first, last] = [dayOf(range.since), dayOf(range.until)]
  /** Each status is a range of an index. */
  const finished = (status: FinishedStatus) => sql`(
    select id
    from deliveries
    where company_id = ${companyId} and registration_id = ${registrationId} and status = ${status}
      and day between ${first}::integer and ${last}::integer
      and created_at >= ${range.since} and created_at < ${range.until}
      and id > ${after ?? 0} and event_id not like 'erased:%'
    order by id
    limit ${limit}
  )`
  const ranges = range.onlyDeadLettered
    ? finished('dead')
    : sql`${finished('delivered')} union all ${finished('dead')} union all ${finished('skipped')}`
  const [row] = await db<[{ renewed: number; seen: number; last: number | null }]>`
    with step as materialized (
      select *
      from (${ranges}) as delivery
      order by id
      limit ${limit}
    ),
    renewed as (
      update deliveries delivery
      set
        status = 'pending', round = round + 1, attempts = 0, faults = 0, lease_expiries = 0, due_at = now(),
        renewed_at = now()
      where delivery.company_id = ${companyId} and delivery.status <> 'pending'
        and delivery.id = any (array(select step.id from step))
        and delivery.day between ${first}::integer and ${last}::integer
      returning delivery.id
    )
    select
      (select count(*) from renewed) as renewed, (select count(*) from step) as seen, (select max(id) from step) as last
  `
  return { count: row.renewed, next: row.seen < limit ? undefined : (row.last ?? undefined) }
}

/** How many deliveries a redelivery of the range would enqueue. */
export async function countFinished(
  db: Db,
  companyId: number,
  registrationId: number,
  range: RedeliveryRange,
): Promise<number> {
  const statuses = range.onlyDeadLettered ? ['dead'] : ['delivered', 'dead', 'skipped']
  const [row] = await db<[{ count: number }]>`
    select count(*) as count
    from deliveries
    where company_id = ${companyId} and registration_id = ${registrationId} and status = any (${statuses}::text[])
      and day between ${dayOf(range.since)}::integer and ${dayOf(range.until)}::integer
      and created_at >= ${range.since} and created_at < ${range.until} and event_id not like 'erased:%'
  `
  return row.count
}

const DAY_MS = 86_400_000

/** The day of a partition: days since 1970. */
const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS)
