import { type Db, jsonRows } from '../../db/connect.ts'
import { LEASE_SECONDS, toKeyColumns } from '../../http/idempotency/idempotency-store.ts'
import type { SendPlan } from './plan-sends.ts'

/** Attaches customers with deleted contacts to new ones. */
export async function attachContacts(tx: Db, attached: SendPlan['attached']): Promise<void> {
  const rows = attached.map(({ companyId, customerId, contactId }) => ({
    company_id: companyId,
    id: customerId,
    contact_id: contactId,
  }))
  await tx`
    update customers customer
    set contact_id = input.contact_id
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint, contact_id bigint)
    where (customer.company_id, customer.id) = (input.company_id, input.id)
  `
}

/** Inserts pending messages and reserves Idempotency-Keys. Returns reservation ids by message id. */
export async function insertPendingMessages(
  tx: Db,
  messages: SendPlan['messages'],
  at: Date,
): Promise<Map<number, number>> {
  const rows = messages.map(({ send, id, conversationId, seq }) => ({
    company_id: send.companyId,
    id,
    conversation_id: conversationId,
    seq,
    type: send.type,
    template: send.template?.name ?? null,
    category: send.template?.category ?? null,
    text: send.text,
    media: send.media,
    content: send.content ?? undefined,
    quoted_wamid: send.quotedWamid ?? undefined,
    sender_name: send.senderName,
  }))
  const keys = messages.flatMap(({ send: { key }, id }) => (key === null ? [] : [{ ...toKeyColumns(key), id }]))
  const reserved = await tx<{ id: number; messageId: number }[]>`
    with message as (
      insert into messages (
        company_id, id, conversation_id, seq, direction, type, template, category, text, media, content,
        quoted_wamid, status, sender_name, sent_at, created_at, updated_at
      )
      overriding system value
      select
        input.company_id, input.id, input.conversation_id, input.seq, 'outbound', input.type, input.template,
        input.category, input.text, nullif(input.media, 'null'), input.content, input.quoted_wamid, 'pending',
        input.sender_name, ${at}, ${at}, ${at}
      from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
        company_id bigint, id bigint, conversation_id bigint, seq bigint, type text, template text, category text,
        text text, media jsonb, content jsonb, quoted_wamid text, sender_name text
      )
    )
    insert into idempotency_keys (company_id, client_id, method, path, key, digest, message_id, lease_until)
    select
      input.company_id, input.client_id, input.method, input.path, input.key, decode(input.digest, 'base64'), input.id,
      clock_timestamp() + ${LEASE_SECONDS} * interval '1 second'
    from jsonb_to_recordset(${jsonRows(tx, keys)}) as input (
      company_id bigint, client_id text, method text, path text, key text, digest text, id bigint
    )
    order by input.company_id, input.client_id, input.method, input.path, input.key
    returning id, message_id
  `
  return new Map(reserved.map(({ id, messageId }) => [messageId, id]))
}

export async function writeSlots(tx: Db, slots: SendPlan['slots']): Promise<void> {
  const rows = slots.map(({ companyId, senderId, nextSlotMs }) => ({
    company_id: companyId,
    sender_id: senderId,
    next_slot_ms: nextSlotMs,
  }))
  await tx`
    update sender_limits limits
    set next_slot_at = to_timestamp(input.next_slot_ms / 1000)
    from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
      company_id bigint, sender_id bigint, next_slot_ms double precision
    )
    where (limits.company_id, limits.sender_id) = (input.company_id, input.sender_id)
  `
}
