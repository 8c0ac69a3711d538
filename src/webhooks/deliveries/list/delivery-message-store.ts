import { type Db, jsonRows } from '../../../db/connect.ts'
import type { Delivery } from './delivery-list-store.ts'

export const MAX_EXCERPT = 120

export type DeliveredMessage = {
  type: string
  text: string | null
  phone: string | null
  firstName: string | null
  lastName: string | null
  profileName: string | null
}

/** Reads the messages of deliveries, by delivery id; other events have none. */
export async function readDeliveredMessages(
  db: Db,
  companyId: number,
  deliveries: readonly Delivery[],
): Promise<Map<number, DeliveredMessage>> {
  if (deliveries.length === 0) return new Map()
  const named = deliveries.map(({ id, event, eventId }) => ({ id, event, event_id: eventId }))
  const rows = await db<(DeliveredMessage & { id: number })[]>`
    select
      input.id, message.type, left(message.text, ${MAX_EXCERPT}::integer) as text, customer.phone,
      contact.first_name, contact.last_name, conversation.profile_name
    from jsonb_to_recordset(${jsonRows(db, named)}) as input (id bigint, event text, event_id text)
    cross join lateral (
      select existing.message_id
      from envelopes existing
      where existing.company_id = ${companyId} and existing.event = input.event and existing.event_id = input.event_id
        and existing.day = (input.id / 1000000000)::integer
      limit 1
    ) as envelope
    join messages message on message.company_id = ${companyId} and message.id = envelope.message_id
    join conversations conversation
      on conversation.company_id = ${companyId} and conversation.id = message.conversation_id
    join customers customer on customer.company_id = ${companyId} and customer.id = conversation.customer_id
    join contacts contact on contact.company_id = ${companyId} and contact.id = customer.contact_id
  `
  return new Map(rows.map(({ id, ...message }) => [id, message]))
}
