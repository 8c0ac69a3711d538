import { type Db, sql, type Transaction } from '../../../db/connect.ts'
import { dayOf } from '../delivery-store.ts'

export type RedeliveryRange = { since: Date; until: Date; onlyDeadLettered: boolean }

export type Redelivery = RedeliveryRange & {
  id: number
  registrationId: number
  renewedUpTo: number
  /** Text with microseconds; deliveries finished later are not renewed. */
  requestedAt: string
}

type FinishedStatus = 'delivered' | 'dead' | 'skipped'

type RenewedStep = { count: number; last: number | undefined }

const RENEWED = sql`
  status = 'pending', round = round + 1, attempts = 0, faults = 0, lease_expiries = 0, due_at = now(),
  renewed_at = clock_timestamp(), finished_at = null
`

/** Falls back to an earlier time for deliveries finished by an earlier version. */
const finishedAt = sql`coalesce(delivery.finished_at, delivery.renewed_at, delivery.created_at)`

/** Makes a finished delivery due again with five attempts; returns false if pending or missing. */
export async function renewDelivery(db: Db, companyId: number, deliveryId: number): Promise<boolean> {
  const { count } = await db`
    update deliveries
    set ${RENEWED}
    where company_id = ${companyId} and id = ${deliveryId} and day = ${deliveryId}::bigint / 1000000000
      and status <> 'pending' and event_id not like 'erased:%'
  `
  return count > 0
}

/** Serializes range counts of a company until the transaction ends. */
export async function lockRedeliveries(tx: Transaction, companyId: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(advisory_key('redeliveries', ${String(companyId)}))`
}

/** Counts finished deliveries, those not claimed by an earlier redelivery, and waiting redeliveries. */
export async function countFinished(
  db: Db,
  companyId: number,
  registrationId: number,
  range: RedeliveryRange,
): Promise<{ found: number; unclaimed: number; waiting: number }> {
  const statuses = range.onlyDeadLettered ? ['dead'] : ['delivered', 'dead', 'skipped']
  const [row] = await db<[{ found: number; unclaimed: number; waiting: number }]>`
    with range as materialized (
      select * from redeliveries waiting
      where waiting.company_id = ${companyId} and waiting.registration_id = ${registrationId}
    )
    select
      count(*) as found,
      count(*) filter (
        where not exists (
          select from range
          where delivery.id > range.renewed_up_to
            and delivery.created_at >= range.since and delivery.created_at < range.until
            and (delivery.status = 'dead' or not range.only_dead_lettered) and ${finishedAt} <= range.requested_at
        )
      ) as unclaimed,
      (select count(*) from redeliveries waiting where waiting.company_id = ${companyId}) as waiting
    from deliveries delivery
    where delivery.company_id = ${companyId} and delivery.registration_id = ${registrationId}
      and delivery.status = any (${statuses}::text[])
      and delivery.day between ${dayOf(range.since)}::integer and ${dayOf(range.until)}::integer
      and delivery.created_at >= ${range.since} and delivery.created_at < ${range.until}
      and delivery.event_id not like 'erased:%'
  `
  return row
}

export async function insertRedelivery(
  tx: Db,
  companyId: number,
  registrationId: number,
  { since, until, onlyDeadLettered }: RedeliveryRange,
): Promise<number> {
  const [row] = await tx<[{ id: number }]>`
    insert into redeliveries (company_id, registration_id, since, until, only_dead_lettered)
    values (${companyId}, ${registrationId}, ${since}, ${until}, ${onlyDeadLettered})
    returning id
  `
  return row.id
}

export async function lockRedelivery(tx: Db, companyId: number, id: number): Promise<Redelivery | undefined> {
  const [row] = await tx<Redelivery[]>`
    select id, registration_id, since, until, only_dead_lettered, renewed_up_to, requested_at::text as requested_at
    from redeliveries
    where company_id = ${companyId} and id = ${id}
    for update
  `
  return row
}

export async function recordStep(tx: Db, companyId: number, id: number, renewedUpTo: number): Promise<void> {
  await tx`
    update redeliveries set renewed_up_to = ${renewedUpTo} where company_id = ${companyId} and id = ${id}
  `
}

export async function deleteRedelivery(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`delete from redeliveries where company_id = ${companyId} and id = ${id}`
}

/** Renews up to `limit` deliveries, in id order. Those renewed since the request end later, so they can't match. */
export async function renewStep(
  tx: Db,
  companyId: number,
  { registrationId, since, until, onlyDeadLettered, renewedUpTo, requestedAt }: Redelivery,
  limit: number,
): Promise<RenewedStep> {
  const [first, last] = [dayOf(since), dayOf(until)]
  /** Each status is an index range. */
  const finished = (status: FinishedStatus) => sql`(
    select delivery.id
    from deliveries delivery
    where delivery.company_id = ${companyId} and delivery.registration_id = ${registrationId}
      and delivery.status = ${status} and delivery.day between ${first}::integer and ${last}::integer
      and delivery.created_at >= ${since} and delivery.created_at < ${until}
      and delivery.id > ${renewedUpTo} and delivery.event_id not like 'erased:%'
      and ${finishedAt} <= ${requestedAt}::timestamptz
    order by delivery.id
    limit ${limit}
  )`
  const ranges = onlyDeadLettered
    ? finished('dead')
    : sql`${finished('delivered')} union all ${finished('dead')} union all ${finished('skipped')}`
  const [row] = await tx<[{ renewed: number; seen: number; last: number | null }]>`
    with step as materialized (
      select *
      from (${ranges}) as delivery
      order by id
      limit ${limit}
    ),
    renewed as (
      update deliveries delivery
      set ${RENEWED}
      where delivery.company_id = ${companyId} and delivery.status <> 'pending'
        and delivery.id = any (array(select step.id from step))
        and delivery.day between ${first}::integer and ${last}::integer
      returning delivery.id
    )
    select
      (select count(*) from renewed) as renewed, (select count(*) from step) as seen, (select max(id) from step) as last
  `
  return { count: row.renewed, last: row.seen < limit ? undefined : (row.last ?? undefined) }
}
