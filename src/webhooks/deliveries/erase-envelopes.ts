import type { RecordEventName } from '../../changes/record-change.ts'
import { IDS_A_MONTH } from '../../conversations/message-store.ts'
import { type Db, type Pool, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { recipientMailbox } from '../../emails/email-keys.ts'
import { emailStatus } from '../events/kinds/email-status.ts'
import { messageStatus } from '../events/kinds/message-status.ts'
import { MESSAGE_RECEIVED } from '../events/message-received.ts'
import { lockDeliveries } from './delivery-order-store.ts'

const ERASED_BODY = '{}'

/** More than one record can have within the retention time. */
const MAX_EVENTS = 100_000

export type NamingEnvelope = {
  readonly day: number
  readonly event: string
  readonly eventId: string
  /** The event id can contain a phone number. */
  readonly erased: string
  readonly deliveryIds: readonly number[]
}

/** Finds message envelopes by wamid or its replacement. */
export async function findMessageEnvelopes(
  db: Db,
  companyId: number,
  wamids: readonly { wamid: string; erased: string }[],
): Promise<NamingEnvelope[]> {
  if (wamids.length === 0) return []
  return db<NamingEnvelope[]>`
    select existing.day, existing.event, existing.event_id, name.erased, existing.delivery_ids
    from ${inputRows(wamids, { text: ['wamid', 'erased'] }, 'name')}
    cross join lateral (
      select envelope.day, envelope.event, envelope.event_id, envelope.delivery_ids
      from envelopes envelope
      where envelope.company_id = ${companyId} and envelope.event = ${MESSAGE_RECEIVED}
        and envelope.event_id = any (array[name.wamid, name.erased])
      limit 2 -- a message has one envelope; a limit keeps the plan to the key
    ) as existing
  `
}

/** Finds record envelopes by event id prefix, such as `msg_7`. */
export async function findRecordEnvelopes(
  db: Db,
  companyId: number,
  event: RecordEventName,
  subjects: readonly string[],
): Promise<NamingEnvelope[]> {
  if (subjects.length === 0) return []
  return db<NamingEnvelope[]>`
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
  `
}

export type EnvelopePlace = Pick<NamingEnvelope, 'event' | 'eventId' | 'day'>
export const FIRST_ENVELOPE: EnvelopePlace = { event: '', eventId: '', day: 0 }

/** Finds up to `limit` envelopes about people, even expired ones, beyond those of messages and records (envelope_people). */
export function findEnvelopesOf(
  db: Db,
  companyId: number,
  people: readonly string[],
  after: EnvelopePlace,
  limit: number,
): Promise<NamingEnvelope[]> {
  return db<NamingEnvelope[]>`
    select
      named.day, named.event, named.event_id, coalesce('erased:' || existing.delivery_ids[1], named.event_id) as erased,
      coalesce(existing.delivery_ids, '{}') as delivery_ids
    from (
      select distinct event, event_id, day
      from envelope_people
      where company_id = ${companyId} and person = any(${[...people]}::text[])
        and (event, event_id, day) > (${after.event}, ${after.eventId}, ${after.day}::integer)
      order by event, event_id, day
      limit ${limit}
    ) as named
    left join lateral (
      select envelope.delivery_ids
      from envelopes envelope
      where envelope.company_id = ${companyId} and envelope.event = named.event and envelope.event_id = named.event_id
        and envelope.day = named.day
      limit 1
    ) as existing on true
    order by named.event, named.event_id, named.day
  `
}

/** Erases envelopes and answers; skips pending deliveries. Log rows stay. Can be repeated. */
export async function eraseEnvelopes(db: Pool, companyId: number, envelopes: readonly NamingEnvelope[]): Promise<void> {
  if (envelopes.length === 0) return
  const deliveries = envelopes.flatMap(({ deliveryIds }) => deliveryIds.map((id) => ({ companyId, id })))
  await db.begin(async (tx) => {
    // Waits for attempts being recorded, and blocks later ones.
    await lockDeliveries(tx, deliveries, sql`true order by id for update`)
    await blankEnvelopes(tx, companyId, envelopes)
  })
}

const blankEnvelopes = (tx: Db, companyId: number, envelopes: readonly NamingEnvelope[]) => tx`
  with name as materialized (
    select *
    from ${inputRows(envelopes, { integer: ['day'], text: ['event', 'eventId', 'erased'], 'bigint[]': ['deliveryIds'] })}
  ),
  blank as (
    update envelopes envelope
    set event_id = name.erased, body = ${ERASED_BODY}
    from name
    where (envelope.company_id, envelope.event, envelope.event_id, envelope.day)
      = (${companyId}, name.event, name.event_id, name.day)
      and name.event_id <> name.erased
  ),
  unnamed as (
    delete from envelope_people person
    using name
    where (person.company_id, person.event, person.event_id, person.day) = (${companyId}, name.event, name.event_id, name.day)
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

export type OutlivedPlace = { companyId: number; id: number }

/** Records the people of the next `limit` messages' envelopes, for erasures without the messages. Can be repeated. */
export async function namePeopleOfMessages(
  db: Db,
  month: number,
  { companyId, id }: OutlivedPlace,
  limit: number,
): Promise<OutlivedPlace | undefined> {
  const [last] = await db<OutlivedPlace[]>`
    with step as materialized (
      select company_id, id, conversation_id, wamid
      from messages
      where (company_id, id) > (${companyId}, ${id})
        and id between ${month * IDS_A_MONTH}::bigint and ${(month + 1) * IDS_A_MONTH - 1}::bigint
      order by company_id, id
      limit ${limit}
    ),
    named as (
      insert into envelope_people (company_id, person, event, event_id, day, created_at)
      select step.company_id, 'conversation:' || step.conversation_id, outlived.event, outlived.event_id, outlived.day, outlived.created_at
      from step
      cross join lateral (
        select envelope.event, envelope.event_id, envelope.day, envelope.created_at
        from envelopes envelope
        where (envelope.company_id, envelope.event, envelope.event_id) = (step.company_id, ${MESSAGE_RECEIVED}, step.wamid)
        union all
        select envelope.event, envelope.event_id, envelope.day, envelope.created_at
        from envelopes envelope
        where (envelope.company_id, envelope.event) = (step.company_id, ${messageStatus.name})
          and envelope.event_id >= 'msg_' || step.id || '.' and envelope.event_id < 'msg_' || step.id || '/'
      ) as outlived
      on conflict do nothing
    )
    select company_id, id from step order by company_id desc, id desc limit 1
  `
  return last
}

/** Records the recipients of emails' envelopes, for erasures without the emails. Can be repeated. */
export async function namePeopleOfEmails(db: Db, companyId: number, emailIds: readonly number[]): Promise<void> {
  await db`
    insert into envelope_people (company_id, person, event, event_id, day, created_at)
    select ${companyId}, 'mailto:' || email.mailbox, outlived.event, outlived.event_id, outlived.day, outlived.created_at
    from (
      select uid, ${recipientMailbox} as mailbox
      from emails
      where company_id = ${companyId} and id = any (${[...emailIds]}::bigint[])
    ) as email
    cross join lateral (
      select envelope.event, envelope.event_id, envelope.day, envelope.created_at
      from envelopes envelope
      where envelope.company_id = ${companyId} and envelope.event = ${emailStatus.name}
        and envelope.event_id >= email.uid || '.' and envelope.event_id < email.uid || '/'
    ) as outlived
    on conflict do nothing
  `
}
