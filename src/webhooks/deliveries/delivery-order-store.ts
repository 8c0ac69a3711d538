import { type Db, jsonRows } from '../../db/connect.ts'
import type { HeldDelivery } from './delivery-store.ts'

/**
 * Holds back deliveries that wait for an earlier one about their conversation: they are leased no longer, and no claim sees
 * them until that one has finished (complete_attempts). Returns the keys (company.id) of those that are held back; the others are due again, since
 * the earlier one is finishing at this moment.
 *
 * The lock on the earlier delivery makes its completion wait for this transaction, and so see what it has to release. A
 * locked one is passed over, so that no two transactions wait for each other.
 */
export async function holdBack(db: Db, deliveries: readonly HeldDelivery[]): Promise<Set<string>> {
  const rows = deliveries.map(({ companyId, deliveryId, claimId }) => ({
    company_id: companyId,
    delivery_id: deliveryId,
    claim_id: claimId,
  }))
  const held = await db<{ companyId: number; id: number }[]>`
    with item as materialized (
      select input.company_id, input.delivery_id as id, input.claim_id, (input.delivery_id / 1000000000)::integer as day
      from jsonb_to_recordset(${jsonRows(db, rows)}) as input (company_id bigint, delivery_id bigint, claim_id uuid)
    ),
    blocked as materialized (
      select item.company_id, item.id, item.day, item.claim_id, earlier.id as earlier_id, earlier.day as earlier_day
      from item
      join deliveries delivery
        on (delivery.company_id, delivery.id, delivery.day) = (item.company_id, item.id, item.day)
      cross join lateral (
        select pending.id, pending.day
        from deliveries pending
        where pending.company_id = item.company_id and pending.registration_id = delivery.registration_id
          and pending.conversation_id = delivery.conversation_id and pending.status = 'pending'
          and pending.id < item.id and pending.day <= item.day
        order by pending.id desc
        limit 1
      ) as earlier
    ),
    locked as materialized (
      select blocked.company_id, blocked.id, blocked.day, blocked.claim_id, blocked.earlier_id
      from blocked
      cross join lateral (
        select
        from deliveries earlier
        where (earlier.company_id, earlier.id, earlier.day) = (blocked.company_id, blocked.earlier_id, blocked.earlier_day)
          and earlier.status = 'pending'
        for share of earlier skip locked
      ) as one
    )
    update deliveries delivery
    set claim_id = null, lease_until = null, waits_for = locked.earlier_id
    from locked
    where (delivery.company_id, delivery.id, delivery.day) = (locked.company_id, locked.id, locked.day)
      and delivery.claim_id = locked.claim_id
    returning delivery.company_id, delivery.id
  `
  return new Set(held.map(({ companyId, id }) => `${companyId}.${id}`))
}

/** Releases deliveries that wait for one of these, which ended without an attempt: they are due, and most end like them. */
export async function releaseBehind(db: Db, ended: readonly Omit<HeldDelivery, 'claimId'>[]): Promise<void> {
  const rows = ended.map(({ companyId, deliveryId }) => ({ company_id: companyId, delivery_id: deliveryId }))
  await db`
    with ended as materialized (
      select * from jsonb_to_recordset(${jsonRows(db, rows)}) as ended (company_id bigint, delivery_id bigint)
    )
    update deliveries delivery
    set waits_for = null
    where delivery.waits_for = any (array(select ended.delivery_id from ended))
      and delivery.day >= (select min(ended.delivery_id) / 1000000000 from ended)
      and exists (
        select from ended where (ended.company_id, ended.delivery_id) = (delivery.company_id, delivery.waits_for)
      )
  `
}

/**
 * Releases deliveries of any company that wait for one that is finished or gone: those that an expiry or an erasure left.
 * Returns how many.
 */
export async function releaseHeldBack(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    with free as materialized (
      select delivery.company_id, delivery.id, delivery.day
      from deliveries delivery
      where delivery.waits_for is not null
        and not exists (
          select
          from deliveries earlier
          where (earlier.company_id, earlier.id) = (delivery.company_id, delivery.waits_for)
            and earlier.day = (delivery.waits_for / 1000000000)::integer and earlier.status = 'pending'
        )
      limit ${limit}
      for update of delivery skip locked
    )
    update deliveries delivery
    set waits_for = null
    from free
    where (delivery.company_id, delivery.id, delivery.day) = (free.company_id, free.id, free.day)
  `
  return count
}
