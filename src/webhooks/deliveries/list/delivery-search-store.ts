import { type Db, sql } from '../../../db/connect.ts'
import { parseId } from '../../../platform/ids.ts'
import { customerIdentity } from '../../../platform/text/phone.ts'
import { EVENT_NAMES } from '../../events/event-kinds.ts'
import { messageStatus } from '../../events/kinds/message-status.ts'
import { MESSAGE_RECEIVED } from '../../events/message-received.ts'
import { dayOfId } from '../delivery-store.ts'
import {
  type DeliveryFilter,
  type DeliveryStatus,
  MAX_DELIVERY_ID,
  unionOfStatuses,
  withinOf,
} from './delivery-list-store.ts'

const MAX_MESSAGES = 100
const MAX_EXAMINED = 10_000
const MAX_FOUND = 1_000
const PHONE = /^\+?[0-9][0-9 ().-]{4,24}$/

/** Finds up to 1,000 ids by delivery id, customer phone or (partial) event id; can include other registrations. */
export async function findDeliveryIds(
  db: Db,
  companyId: number,
  registrationId: number,
  search: string,
  filter: DeliveryFilter,
): Promise<number[]> {
  const lists = PHONE.test(search)
    ? [await idsOfDelivery(db, companyId, search), await idsOfCustomer(db, companyId, search)]
    : [await idsOfEvent(db, companyId, search)]
  const found = lists.flat()
  return found.length > 0 ? found.slice(0, MAX_FOUND) : idsByPart(db, companyId, registrationId, search, filter)
}

async function idsOfDelivery(db: Db, companyId: number, text: string): Promise<number[]> {
  const id = parseId(text)
  if (id === undefined || id > MAX_DELIVERY_ID) return []
  const rows = await db<{ id: number }[]>`
    select id from deliveries
    where company_id = ${companyId} and id = ${id} and day = ${dayOfId(id)}
  `
  return rows.map((row) => row.id)
}

async function idsOfCustomer(db: Db, companyId: number, phone: string): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select unnest(envelope.delivery_ids) as id
    from (
      select message.id, message.wamid
      from customer_identities identity
      join conversations conversation
        on conversation.company_id = ${companyId} and conversation.customer_id = identity.customer_id
      cross join lateral (
        select existing.id, existing.wamid
        from messages existing
        where existing.company_id = ${companyId} and existing.conversation_id = conversation.id
        order by existing.seq desc
        limit ${MAX_MESSAGES}
      ) as message
      where identity.company_id = ${companyId} and identity.identity = ${customerIdentity(phone)}
        and identity.retired_at is null
      order by message.id desc
      limit ${MAX_MESSAGES}
    ) as message
    cross join lateral (
      select ${MESSAGE_RECEIVED} as event, message.wamid as event_id
      union all
      select ${messageStatus.name}, 'msg_' || message.id || '.' || status
      from unnest(array['sent', 'delivered', 'read', 'failed']) as status
    ) as name
    join envelopes envelope
      on envelope.company_id = ${companyId} and envelope.event = name.event and envelope.event_id = name.event_id
    limit ${MAX_FOUND}
  `
  return rows.map(({ id }) => id)
}

async function idsOfEvent(db: Db, companyId: number, eventId: string): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select unnest(envelope.delivery_ids) as id
    from envelopes envelope
    where envelope.company_id = ${companyId} and envelope.event = any (${[...EVENT_NAMES]}::text[])
      and envelope.event_id = ${eventId}
    limit ${MAX_FOUND}
  `
  return rows.map(({ id }) => id)
}

/** Scans the newest deliveries only: partial ids have no index. */
async function idsByPart(
  db: Db,
  companyId: number,
  registrationId: number,
  part: string,
  { status, ...range }: DeliveryFilter,
): Promise<number[]> {
  const ofStatus = (one: DeliveryStatus) => sql`(
    select id, event_id
    from deliveries
    where company_id = ${companyId} and registration_id = ${registrationId} and status = ${one} ${withinOf(range)}
    order by id desc
    limit ${MAX_EXAMINED}
  )`
  const rows = await db<{ id: number }[]>`
    select newest.id from (${unionOfStatuses(status, ofStatus)}) as newest
    where position(${part} in newest.event_id) > 0
    order by newest.id desc
    limit ${MAX_FOUND}
  `
  return rows.map(({ id }) => id)
}
