import { type Db, type Fragment, jsonRows, sql } from '../../../db/connect.ts'
import type { RecordEventName } from '../../../record-change.ts'
import { MESSAGE_RECEIVED } from '../../events/message-received.ts'

/** The body of an erased envelope: the delivery log shows it as its payload. */
const ERASED_BODY = '{}'

/** Events of one record that one statement erases: more than a record has in the days that envelopes are kept. */
const MAX_EVENTS = 100_000

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
  await eraseNamed(
    db,
    companyId,
    sql`
      select existing.day, existing.event, existing.event_id, name.erased, existing.delivery_ids
      from jsonb_to_recordset(${jsonRows(db, wamids)}) as name (wamid text, erased text)
      cross join lateral (
        select envelope.day, envelope.event, envelope.event_id, envelope.delivery_ids
        from envelopes envelope
        where envelope.company_id = ${companyId} and envelope.event = ${MESSAGE_RECEIVED}
          and envelope.event_id = any (array[name.wamid, name.erased])
        limit 2 -- a message has one envelope; a limit keeps the plan to the key
      ) as existing
    `,
  )
}

/**
 * The same for the events about records, by what the ids of the events begin with: `msg_7` for those of message 7. A
 * repeated call changes nothing but answers that were recorded meanwhile.
 */
export async function eraseRecordEvents(
  db: Db,
  companyId: number,
  event: RecordEventName,
  subjects: readonly string[],
): Promise<void> {
  if (subjects.length === 0) return
  await eraseNamed(
    db,
    companyId,
    sql`
      select
        existing.day, existing.event, existing.event_id,
        case when existing.event_id like 'erased:%' then existing.event_id else 'erased:' || existing.event_id end as erased,
        existing.delivery_ids
      from unnest(${[...subjects]}::text[]) as subject (id)
      cross join lateral unnest(array[subject.id, 'erased:' || subject.id]) as prefix (id)
      cross join lateral (
        select envelope.day, envelope.event, envelope.event_id, envelope.delivery_ids
        from envelopes envelope
        where envelope.company_id = ${companyId} and envelope.event = ${event}
          and envelope.event_id >= prefix.id || '.' and envelope.event_id < prefix.id || '/' -- the next character
        limit ${MAX_EVENTS}
      ) as existing
    `,
  )
}

/** Erases the envelopes that a statement names: day, event, event_id, erased, delivery_ids. */
async function eraseNamed(db: Db, companyId: number, named: Fragment): Promise<void> {
  await db`
    with name as materialized (${named}),
    blank as (
      update envelopes envelope
      set event_id = name.erased, body = ${ERASED_BODY}
      from name
      where (envelope.company_id, envelope.event, envelope.event_id, envelope.day)
        = (${companyId}, name.event, name.event_id, name.day)
        and name.event_id <> name.erased
    ),
    delivery as materialized (
      select one.id, name.day, name.erased from name cross join lateral unnest(name.delivery_ids) as one (id)
    ),
    skipped as (
      update deliveries
      set
        event_id = delivery.erased,
        response = null,
        last_error = null,
        status = case deliveries.status when 'pending' then 'skipped' else deliveries.status end,
        claim_id = case deliveries.status when 'pending' then null else deliveries.claim_id end,
        lease_until = case deliveries.status when 'pending' then null else deliveries.lease_until end
      from delivery
      where (deliveries.company_id, deliveries.id, deliveries.day) = (${companyId}, delivery.id, delivery.day)
        and (
          deliveries.event_id <> delivery.erased or deliveries.status = 'pending' or deliveries.response is not null
        )
    )
    update delivery_attempts attempt
    set response = null
    from delivery
    where (attempt.company_id, attempt.delivery_id) = (${companyId}, delivery.id) and attempt.response is not null
  `
}
