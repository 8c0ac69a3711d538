import type { Db, Pool } from '../../../db/connect.ts'
import type { PartitionRange } from '../../../queue/job-table.ts'
import { openDays } from '../days/delivery-day-store.ts'
import type { DeliveryRef } from '../delivery-store.ts'

/** Dead-letters and logs up to `limit` expired deliveries, except leased ones and those of locked companies. */
export async function expireDeliveries(
  db: Pool,
  deadlineMs: number,
  message: string,
  limit: number,
): Promise<DeliveryRef[]> {
  const days = await openDays(db)
  return await db.begin(async (tx) => {
    const late = await lockLate(tx, deadlineMs, days, limit)
    return late.length === 0 ? [] : await endLocked(tx, late, message)
  })
}

type Late = { companyId: number; id: number; day: number }

const lockLate = (tx: Db, deadlineMs: number, { first, last }: PartitionRange, limit: number) => tx<Late[]>`
  with cutoff as materialized (
    select deadline.at, (deadline.at at time zone 'UTC')::date - date '1970-01-01' as day
    from (select now() - ${deadlineMs} * interval '1 ms' as at) as deadline
  )
  select delivery.company_id, delivery.id, delivery.day
  from registrations registration
  join companies company on company.id = registration.company_id and company.closed_at is null
  cross join lateral (
    select pending.company_id, pending.id, pending.day
    from deliveries pending
    where pending.company_id = registration.company_id and pending.registration_id = registration.id
      and pending.status = 'pending' and pending.claim_id is null
      and pending.day between ${first}::integer and ${last}::integer
      -- ids are in the order of time but for the duration of a transaction
      and pending.id < (select delivery_id_at(cutoff.day, cutoff.at + interval '1 minute') from cutoff)
      and coalesce(pending.renewed_at, pending.created_at) < (select at from cutoff)
    order by pending.id
    limit ${limit}
    for update of pending skip locked
  ) as delivery
  limit ${limit}
`

/** Must be a separate statement: locked rows need no recheck (docs/decisions/0016). */
const endLocked = (tx: Db, late: readonly Late[], message: string) => tx<DeliveryRef[]>`
  with ended as (
    update deliveries delivery
    set status = 'dead', finished_at = clock_timestamp(), failed_at = null
    from unnest(${late.map(({ companyId }) => companyId)}::bigint[], ${late.map(({ id }) => id)}::bigint[]) as late (company_id, id)
    where (delivery.company_id, delivery.id) = (late.company_id, late.id) and delivery.status = 'pending'
      and delivery.day between ${Math.min(...late.map(({ day }) => day))}::integer
        and ${Math.max(...late.map(({ day }) => day))}::integer
    returning delivery.company_id, delivery.registration_id, delivery.id, delivery.round, delivery.attempts
  ),
  logged as (
    insert into delivery_attempts (
      company_id, registration_id, delivery_id, round, attempt, error_message, duration_ms, dead_lettered, sent_at
    )
    select
      ended.company_id, ended.registration_id, ended.id, ended.round, ended.attempts + 1, ${message}, 0, true,
      date_trunc('milliseconds', clock_timestamp())
    from ended
    order by ended.id
  )
  select ended.company_id, ended.id as delivery_id, ended.registration_id from ended
`
