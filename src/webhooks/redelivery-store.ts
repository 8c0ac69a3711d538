import type { Db } from '../db/connect.ts'
import type { DeliveryRef } from './delivery-store.ts'

export type RedeliveryRange = { since: Date; until: Date; onlyDeadLettered: boolean }

/** Where a walk over the deliveries of a range stands. */
export type RedeliveryCursor = { createdAt: string; id: number }
export type RedeliveryBatch = { deliveries: DeliveryRef[]; next: RedeliveryCursor | undefined }

/** Puts a finished delivery up again, with five new attempts; undefined when it is still pending, or missing. */
export async function renewDelivery(db: Db, companyId: number, deliveryId: number): Promise<DeliveryRef | undefined> {
  const [row] = await db<DeliveryRef[]>`
    update deliveries
    set status = 'pending', round = round + 1, attempts = 0, next_attempt_at = now(), updated_at = now()
    where company_id = ${companyId} and id = ${deliveryId} and status <> 'pending' and wamid not like 'erased:%'
    returning company_id, id as delivery_id, registration_id
  `
  return row
}

/**
 * Puts up again the next `limit` deliveries of a registration that were made within the range and are finished, oldest
 * first. A range of any size is walked in steps, so that no transaction grows with it.
 */
export async function renewDeliveries(
  db: Db,
  companyId: number,
  registrationId: number,
  range: RedeliveryRange,
  cursor: RedeliveryCursor | undefined,
  limit: number,
): Promise<RedeliveryBatch> {
  const rows = await db<(DeliveryRef & RedeliveryCursor & { isRenewed: boolean })[]>`
    with step as materialized (
      select delivery.id, delivery.created_at
      from deliveries delivery
      where delivery.company_id = ${companyId}
        and delivery.registration_id = ${registrationId}
        and delivery.created_at >= ${range.since}
        and delivery.created_at < ${range.until}
        and (delivery.created_at, delivery.id)
          > (coalesce(${cursor?.createdAt ?? null}::timestamptz, '-infinity'), ${cursor?.id ?? 0}::bigint)
        and delivery.wamid not like 'erased:%'
        and delivery.status = any (${range.onlyDeadLettered ? ['dead'] : ['delivered', 'dead', 'skipped']}::text[])
      order by delivery.created_at, delivery.id
      limit ${limit}
    ),
    renewed as (
      update deliveries delivery
      set status = 'pending', round = round + 1, attempts = 0, next_attempt_at = now(), updated_at = now()
      from step
      where delivery.company_id = ${companyId} and delivery.id = step.id and delivery.status <> 'pending'
      returning delivery.id
    )
    select
      ${companyId}::bigint as company_id, step.id as delivery_id, ${registrationId}::bigint as registration_id,
      step.created_at::text, step.id, renewed.id is not null as is_renewed
    from step
    left join renewed using (id)
    order by step.created_at, step.id
  `
  const last = rows.length < limit ? undefined : rows.at(-1)
  return {
    deliveries: rows
      .filter((row) => row.isRenewed)
      .map(({ deliveryId }) => ({ companyId, deliveryId, registrationId })),
    next: last && { createdAt: last.createdAt, id: last.id },
  }
}
