import { type Db, type Fragment, type Pool, sql, type Transaction } from '../../db/connect.ts'
import { inputRows, recordKeyOf } from '../../db/input-rows.ts'
import { dayOfId, type HeldDelivery } from './delivery-store.ts'

/**
 * Holds back deliveries behind an earlier one of their conversation until complete_attempts releases them; returns their
 * keys. The others are due again: their predecessor is just finishing.
 * Its lock makes the completion wait and see what to release. `skip locked` prevents deadlocks.
 */
export async function holdBack(tx: Transaction, deliveries: readonly HeldDelivery[]): Promise<Set<string>> {
  const blocked = await findBlocked(tx, deliveries)
  const earlier = blocked.map(({ companyId, earlierId }) => ({ companyId, id: earlierId }))
  const pending = await lockDeliveries(tx, earlier, sql`status = 'pending' for share skip locked`)
  const keys = new Set(pending.map(recordKeyOf))
  return await setWaiting(
    tx,
    blocked.filter(({ companyId, earlierId: id }) => keys.has(recordKeyOf({ companyId, id }))),
  )
}

type Blocked = HeldDelivery & { earlierId: number }

const findBlocked = (tx: Db, deliveries: readonly HeldDelivery[]) => tx<Blocked[]>`
  select input.company_id, input.delivery_id, input.claim_id, earlier.id as earlier_id
  from ${inputRows(deliveries, { bigint: ['companyId', 'deliveryId'], uuid: ['claimId'] })}
  join deliveries delivery
    on (delivery.company_id, delivery.id) = (input.company_id, input.delivery_id)
    and delivery.day = (input.delivery_id / 1000000000)::integer
  cross join lateral (
    select pending.id
    from deliveries pending
    where pending.company_id = input.company_id and pending.registration_id = delivery.registration_id
      and pending.conversation_id = delivery.conversation_id and pending.status = 'pending'
      and pending.id < delivery.id and pending.day <= delivery.day
    order by pending.id desc
    limit 1
  ) as earlier
`

type DeliveryKey = { companyId: number; id: number }

/** Locks deliveries without a join (docs/decisions/0016). The condition must include the lock clause. */
export async function lockDeliveries(
  tx: Db,
  deliveries: readonly DeliveryKey[],
  conditionAndLock: Fragment,
): Promise<DeliveryKey[]> {
  const ids = deliveries.map(({ id }) => id)
  const locked = await tx<DeliveryKey[]>`
    select company_id, id
    from deliveries
    where company_id = any(${deliveries.map(({ companyId }) => companyId)}::bigint[]) and id = any(${ids}::bigint[])
      and day = any(${ids.map(dayOfId)}::integer[]) and ${conditionAndLock}
  `
  const keys = new Set(deliveries.map(recordKeyOf))
  return locked.filter((delivery) => keys.has(recordKeyOf(delivery)))
}

async function setWaiting(tx: Db, held: readonly Blocked[]): Promise<Set<string>> {
  const waiting = await tx<DeliveryKey[]>`
    update deliveries delivery
    set claim_id = null, lease_until = null, waits_for = input.earlier_id
    from ${inputRows(held, { bigint: ['companyId', 'deliveryId', 'earlierId'], uuid: ['claimId'] })}
    where (delivery.company_id, delivery.id) = (input.company_id, input.delivery_id)
      and delivery.day = (input.delivery_id / 1000000000)::integer and delivery.claim_id = input.claim_id
    returning delivery.company_id, delivery.id
  `
  return new Set(waiting.map(recordKeyOf))
}

/** Releases deliveries behind ones that ended without an attempt. */
export async function releaseBehind(db: Db, ended: readonly Omit<HeldDelivery, 'claimId'>[]): Promise<void> {
  await db`
    with ended as materialized (
      select * from ${inputRows(ended, { bigint: ['companyId', 'deliveryId'] }, 'ended')}
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

/** Releases deliveries left behind by an expiry or erasure; returns their number. */
export async function releaseHeldBack(db: Pool, limit: number): Promise<number> {
  return await db.begin(async (tx) => {
    const free = await tx<DeliveryKey[]>`
      select delivery.company_id, delivery.id
      from deliveries delivery
      where delivery.waits_for is not null
        and not exists (
          select
          from deliveries earlier
          where (earlier.company_id, earlier.id) = (delivery.company_id, delivery.waits_for)
            and earlier.day = (delivery.waits_for / 1000000000)::integer and earlier.status = 'pending'
        )
      limit ${limit}
    `
    if (free.length === 0) return 0
    const locked = await lockDeliveries(tx, free, sql`waits_for is not null for update skip locked`)
    const { count } = await tx`
      update deliveries delivery
      set waits_for = null
      from ${inputRows(locked, { bigint: ['companyId', 'id'] })}
      where (delivery.company_id, delivery.id) = (input.company_id, input.id)
        and delivery.day = (input.id / 1000000000)::integer
    `
    return count
  })
}
