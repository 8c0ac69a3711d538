import { type Db, sql } from '../db/connect.ts'
import { conversationNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import type { MessageContext, StructuredContent } from './content/message-content.ts'
import { type Conversation, listConversationsByIds } from './list/conversation-list-store.ts'
import type { ConversationStatus } from './list/conversation-source.ts'
import { isAmong, isSince } from './message-store.ts'
import type { MessagePricing } from './usage/usage.ts'

export async function findConversation(db: Db, companyId: number, id: number): Promise<Conversation | undefined> {
  const [conversation] = await listConversationsByIds(db, companyId, [id])
  return conversation
}

export type ConversationChange = {
  status?: ConversationStatus | undefined
  unreadMessages?: 0 | undefined
  assignee?: string | null | undefined
}

export async function updateConversation(
  db: Db,
  companyId: number,
  id: number,
  { status, unreadMessages, assignee }: ConversationChange,
): Promise<boolean> {
  // Must lock the conversation before its activity, as elsewhere.
  const result = await db`
    with changed as (
      update conversations
      set
        status = coalesce(${status ?? null}, status),
        unread_messages = coalesce(${unreadMessages ?? null}::integer, unread_messages),
        updated_at = now()
      where company_id = ${companyId} and id = ${id}
      returning company_id, id, status, unread_messages
    )
    update conversation_activity activity
    set
      status = changed.status,
      is_unread = changed.unread_messages > 0,
      assignee = case when ${assignee === undefined} then activity.assignee else ${assignee ?? null} end
    from changed
    where activity.company_id = ${companyId} and activity.conversation_id = ${id}
  `
  return result.count > 0
}

export type Message = {
  id: number
  seq: number
  wamid: string | null
  direction: 'inbound' | 'outbound'
  type: string
  kind: string
  text: string | null
  media: {
    link?: string | null
    providerMediaId?: string | null
    uploadId?: string
    mimeType?: string | null
    filename?: string | null
    voice?: boolean
  } | null
  reaction: string | null
  status: string
  error: { code: number | null; title: string | null; details: string | null } | null
  pricing: MessagePricing | null
  senderName: string | null
  sentAt: Date | null
  editedAt: Date | null
  revokedAt: Date | null
  content: StructuredContent | null
  context: MessageContext | null
  quotedWamid: string | null
  /** Null if unknown; the first 500 characters of its text. */
  quoted: {
    id: number
    wamid: string
    direction: 'inbound' | 'outbound'
    kind: string
    text: string | null
    senderName: string | null
  } | null
}

/** Lists messages from seq to seq, inclusive, newest first; reads only the conversation's months. */
export function listMessages(
  db: Db,
  companyId: number,
  { id, createdAt }: Pick<Conversation, 'id' | 'createdAt'>,
  range: { from: number; to: number },
): Promise<Message[]> {
  return db<Message[]>`
    select ${messageColumns}
    from messages message
    where message.company_id = ${companyId}
      and message.conversation_id = ${id}
      and message.seq between ${range.from} and ${range.to}
      and ${isSince(createdAt)}
    order by message.seq desc
  `
}

const QUOTED_CHARACTERS = 500

const messageColumns = sql`
  message.id, message.seq, message.wamid, message.direction, message.type, message.text, message.media, message.status,
  message.error, message.pricing, message.sender_name, message.sent_at, message.edited_at, message.revoked_at,
  message.content, message.context, message.quoted_wamid,
  message_kind(message.kind, message.template, message.content, message.media, message.type) as kind,
  (
    select json_build_object(
      'id', quoted.id,
      'wamid', quoted.wamid,
      'direction', quoted.direction,
      'kind', message_kind(quoted.kind, quoted.template, quoted.content, quoted.media, quoted.type),
      'text', left(quoted.text, ${QUOTED_CHARACTERS}),
      'senderName', quoted.sender_name
    )
    from messages quoted
    where message.quoted_wamid is not null
      and (quoted.company_id, quoted.wamid) = (message.company_id, message.quoted_wamid)
      and quoted.id <= message.id - message.id % 1000000000000 + 999999999999
    order by quoted.id desc -- the newest month first
    limit 1
  ) as quoted,
  (
    select reaction.emoji
    from message_reactions reaction
    where reaction.company_id = message.company_id and reaction.target_wamid = message.wamid
    order by reaction.occurred_at desc, reaction.ordinal desc
    limit 1
  ) as reaction
`

type PlacedMessage = Message & { conversationId: number; createdAt: Date }

export const listMessagesByIds = (db: Db, companyId: number, ids: readonly number[]): Promise<PlacedMessage[]> =>
  db<PlacedMessage[]>`
    select ${messageColumns}, message.conversation_id, message.created_at
    from messages message
    where message.company_id = ${companyId} and message.id = any (${[...ids]}::bigint[]) and ${isAmong(ids)}
    order by message.id
  `

export async function listConversationIdsOf(
  db: Db,
  companyId: number,
  contactIds: readonly number[],
  limit: number,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select conversation.id
    from customers customer
    join conversations conversation
      on (conversation.company_id, conversation.customer_id) = (customer.company_id, customer.id)
    where customer.company_id = ${companyId} and customer.contact_id = any (${[...contactIds]}::bigint[])
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** Finds the last seq at or before an id, else the last expired seq: one probe if the message exists, or binary search. */
export async function findPlace(
  db: Db,
  companyId: number,
  conversation: Pick<Conversation, 'id' | 'createdAt' | 'messageCount' | 'expiredCount'>,
  id: number,
): Promise<number> {
  const { messageCount, expiredCount } = conversation
  const rows = await db<{ seq: number }[]>`
    with recursive place (low, high) as (
      select coalesce(named.seq, ${expiredCount}::bigint), coalesce(named.seq, ${messageCount}::bigint) + 1
      from (values (1)) as start
      left join lateral (
        select message.seq
        from messages message
        where (message.company_id, message.id, message.conversation_id)
          = (${companyId}::bigint, ${id}::bigint, ${conversation.id}::bigint)
      ) as named on true
      union all
      select
        case when probe.id <= ${id}::bigint then probe.seq else place.low end,
        case when probe.id <= ${id}::bigint then place.high else middle.seq end
      from place
      cross join lateral (select (place.low + place.high) / 2 as seq) as middle
      left join lateral (
        select message.seq, message.id
        from messages message
        where message.company_id = ${companyId}
          and message.conversation_id = ${conversation.id}
          and message.seq >= middle.seq
          and message.seq < place.high
          and ${isSince(conversation.createdAt)}
        order by message.seq
        limit 1
      ) as probe on true
      where place.high - place.low > 1
    )
    select low as seq
    from place
    where high - low <= 1
  `
  return rows[0]?.seq ?? expiredCount
}

export async function hasWrittenSince(db: Db, companyId: number, identity: string, since: Date): Promise<boolean> {
  const rows = await db`
    select
    from find_customer(${companyId}, ${identity}) as customer
    join conversations conversation
      on (conversation.company_id, conversation.customer_id) = (customer.company_id, customer.customer_id)
    where conversation.last_inbound_at >= ${since}
    limit 1
  `
  return rows.length > 0
}

/** Returns a conversation by its path id, or throws 404. */
export async function getConversation(db: Db, companyId: number, chatId: string): Promise<Conversation> {
  const id = parseId(chatId)
  const conversation = id === undefined ? undefined : await findConversation(db, companyId, id)
  if (conversation === undefined) throw conversationNotFound()
  return conversation
}

type ReportedStatus = {
  status: string
  occurredAt: Date | null
  createdAt: Date
  error: Message['error']
}

type MessageDelivery = {
  registrationId: number
  deliveryId: number
  status: 'pending' | 'delivered' | 'dead' | 'skipped'
  attempts: number
}

export type StoredMessageDetails = { message: Message; statuses: ReportedStatus[]; deliveries: MessageDelivery[] }

export async function findMessageDetails(
  db: Db,
  companyId: number,
  conversationId: number,
  id: number,
): Promise<StoredMessageDetails | undefined> {
  const [message] = await listMessagesByIds(db, companyId, [id])
  if (message === undefined || message.conversationId !== conversationId) return undefined
  const statuses = await db<ReportedStatus[]>`
    select status, occurred_at, created_at, error
    from message_status_events
    where company_id = ${companyId} and message_id = ${id}
    order by created_at, status
  `
  return { message, statuses, deliveries: await listDeliveriesOf(db, companyId, message.wamid, message.createdAt) }
}

const DAY_MS = 86_400_000

/** An envelope is stored with its message, on the same day or just after midnight. */
async function listDeliveriesOf(
  db: Db,
  companyId: number,
  wamid: string | null,
  createdAt: Date,
): Promise<MessageDelivery[]> {
  if (wamid === null) return []
  const day = Math.floor(createdAt.getTime() / DAY_MS)
  return db<MessageDelivery[]>`
    select delivery.registration_id, delivery.id as delivery_id, delivery.status, delivery.attempts
    from envelopes envelope
    cross join lateral unnest(envelope.delivery_ids) as sent (id)
    cross join lateral (
      select existing.registration_id, existing.id, existing.status, existing.attempts
      from deliveries existing
      where existing.id = sent.id and existing.company_id = ${companyId} and existing.day = envelope.day
      limit 1
    ) as delivery
    where envelope.company_id = ${companyId} and envelope.event = 'whatsapp.message.received' and envelope.event_id = ${wamid}
      and envelope.day between ${day}::integer and ${day + 1}::integer
    order by delivery.id
  `
}
