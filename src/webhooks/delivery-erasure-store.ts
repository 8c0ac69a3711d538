import { type Db, jsonRows } from '../db/connect.ts'

/** The body of an erased envelope: the delivery log shows it as its payload. */
const ERASED_BODY = '{}'

/**
 * Erases the envelopes of messages and what receivers answered. Deliveries that wait are skipped; the rows of the log stay.
 * `erased` replaces the wamid. A repeated call with the former or the new wamids changes nothing but answers that were
 * recorded meanwhile.
 */
export async function eraseDeliveries(
  db: Db,
  companyId: number,
  wamids: readonly { wamid: string; erased: string }[],
): Promise<void> {
  if (wamids.length === 0) return
  await db`
    with name as materialized (
      select known.day, known.wamid, name.erased, known.delivery_ids
      from jsonb_to_recordset(${jsonRows(db, wamids)}) as name (wamid text, erased text)
      cross join lateral (
        select envelope.day, envelope.wamid, envelope.delivery_ids
        from envelopes envelope
        where envelope.company_id = ${companyId} and envelope.wamid = any (array[name.wamid, name.erased])
        limit 2 -- a message has one envelope; a limit keeps the plan to the key
      ) as known
    ),
    blank as (
      update envelopes envelope
      set wamid = name.erased, body = ${ERASED_BODY}
      from name
      where (envelope.company_id, envelope.wamid, envelope.day) = (${companyId}, name.wamid, name.day)
        and name.wamid <> name.erased
    ),
    delivery as materialized (
      select one.id, name.day, name.erased from name cross join lateral unnest(name.delivery_ids) as one (id)
    ),
    skipped as (
      update deliveries
      set
        wamid = delivery.erased,
        response = null,
        last_error = null,
        status = case deliveries.status when 'pending' then 'skipped' else deliveries.status end,
        claim_id = case deliveries.status when 'pending' then null else deliveries.claim_id end,
        lease_until = case deliveries.status when 'pending' then null else deliveries.lease_until end
      from delivery
      where (deliveries.company_id, deliveries.id, deliveries.day) = (${companyId}, delivery.id, delivery.day)
        and (
          deliveries.wamid <> delivery.erased or deliveries.status = 'pending' or deliveries.response is not null
        )
    )
    update delivery_attempts attempt
    set response = null
    from delivery
    where (attempt.company_id, attempt.delivery_id) = (${companyId}, delivery.id) and attempt.response is not null
  `
}
