import type { Db } from '../db/connect.ts'

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
      select *
      from unnest(${wamids.map((one) => one.wamid)}::text[], ${wamids.map((one) => one.erased)}::text[])
        as name (wamid, erased)
    ),
    former as (
      delete from envelopes envelope
      using name
      where (envelope.company_id, envelope.wamid) = (${companyId}, name.wamid) and name.wamid <> name.erased
      returning name.erased, envelope.event, envelope.created_at
    ),
    blank as (
      insert into envelopes (company_id, wamid, event, body, created_at)
      select ${companyId}, former.erased, former.event, ${ERASED_BODY}, former.created_at
      from former
      on conflict do nothing
    ),
    delivery as materialized (
      select known.id, name.erased
      from name
      join registrations registration on registration.company_id = ${companyId}
      cross join lateral (
        select deliveries.id
        from deliveries
        where (deliveries.company_id, deliveries.registration_id, deliveries.wamid)
          = (${companyId}, registration.id, name.wamid)
        limit 1
      ) as known
    ),
    renamed as (
      update deliveries
      set
        wamid = delivery.erased,
        status = case deliveries.status when 'pending' then 'skipped' else deliveries.status end,
        next_attempt_at = null,
        updated_at = statement_timestamp()
      from delivery
      where (deliveries.company_id, deliveries.id) = (${companyId}, delivery.id)
        and (deliveries.wamid <> delivery.erased or deliveries.status = 'pending')
    )
    update delivery_attempts attempt
    set response = null
    from delivery
    where (attempt.company_id, attempt.delivery_id) = (${companyId}, delivery.id) and attempt.response is not null
  `
}
