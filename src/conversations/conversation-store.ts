import type postgres from '#postgres'
import type { Db } from '../db/connect.ts'

export type ConversationStatus = 'open' | 'closed' | 'snoozed'

export type Conversation = {
  id: number
  /** The customer's identity; `#` and an id: a group; `~` and an id: found through aliases alone. */
  customer: string
  /** The connected number, as displayed, and its name. */
  senderId: number
  phoneNumber: string
  phoneName: string
  contactId: number
  contactPhone: string | null
  firstName: string | null
  lastName: string | null
  profileName: string | null
  /** The provider's user id of the customer. */
  userId: string | null
  groupId: string | null
  status: ConversationStatus
  unreadMessages: number
  messageCount: number
  /** Messages up to this seq are deleted. */
  expiredCount: number
  lastText: string | null
  lastDirection: 'inbound' | 'outbound' | null
  lastMessageAt: Date | null
  /** Opens the 24-hour window. */
  lastInboundAt: Date | null
  assignee: string | null
  createdAt: Date
  updatedAt: Date
}

/** How many conversations the company has, without counting them. */
export async function readConversationTotal(db: Db, companyId: number): Promise<number> {
  const rows = await db<{ total: number }[]>`
    select coalesce(sum(total), 0)::bigint as total from conversation_counts where company_id = ${companyId}
  `
  return rows[0]?.total ?? 0
}

/** A stretch of the list, newest activity first. The far half is read from its own end. */
export async function listConversations(
  db: Db,
  companyId: number,
  { offset, limit, total }: { offset: number; limit: number; total: number },
): Promise<Conversation[]> {
  if (offset >= total) return []
  const behind = Math.max(0, total - offset - limit)
  if (offset <= behind) return selectConversations(db, companyId, { order: 'desc', offset, limit })
  const count = Math.min(limit, total - offset)
  const rows = await selectConversations(db, companyId, { order: 'asc', offset: behind, limit: count })
  return rows.reverse()
}

/** A record of a list, and the side of it that follows: `before` comes after it in a list with the newest first. */
export type Cursor = { readonly side: 'before' | 'after'; readonly id: number }

/** The conversations next to one of them, in the order of the list; none when the company has no such conversation. */
export async function listConversationsFrom(
  db: Db,
  companyId: number,
  { side, id }: Cursor,
  limit: number,
): Promise<Conversation[]> {
  const isBefore = side === 'before'
  const anchor = db`
    (
      select anchor.active_at, anchor.conversation_id
      from conversation_activity anchor
      where anchor.company_id = ${companyId} and anchor.conversation_id = ${id}
    )
  `
  const beyond = isBefore
    ? db`and (activity.active_at, activity.conversation_id) < ${anchor}`
    : db`and (activity.active_at, activity.conversation_id) > ${anchor}`
  const order = isBefore ? 'desc' : 'asc'
  const rows = await selectConversations(db, companyId, { order, offset: 0, limit, beyond })
  return isBefore ? rows : rows.reverse()
}

export async function findConversation(db: Db, companyId: number, id: number): Promise<Conversation | undefined> {
  const rows = await selectConversations(db, companyId, {
    order: 'desc',
    offset: 0,
    limit: 1,
    beyond: db`and activity.conversation_id = ${id}`,
  })
  return rows[0]
}

type Fragment = postgres.PendingQuery<postgres.Row[]>
type Stretch = { order: 'asc' | 'desc'; offset: number; limit: number; beyond?: Fragment }

/** The page is found in the index alone; only its rows are joined to their contacts. */
function selectConversations(db: Db, companyId: number, stretch: Stretch): Promise<Conversation[]> {
  const { order, offset, limit, beyond = db`` } = stretch
  const direction = order === 'desc' ? db`desc` : db`asc`
  return db<Conversation[]>`
    select
      conversation.id, conversation.customer, conversation.contact_id, contact.phone as contact_phone, contact.first_name, contact.last_name,
      conversation.profile_name,
      sender.id as sender_id, sender.phone_number, sender.phone_name,
      case
        when conversation.customer ~ '^[A-Z]' then conversation.customer
        when conversation.customer like '~%' then (
          select known.alias
          from customer_aliases known
          where (known.company_id, known.sender_id, known.customer)
              = (conversation.company_id, conversation.sender_id, conversation.customer)
            and known.alias ~ '^[A-Z]'
          limit 1
        )
        else (
          select known.user_id
          from customer_user_ids known
          where (known.company_id, known.phone_identity) = (conversation.company_id, conversation.customer)
        )
      end as user_id,
      case when conversation.customer like '#%' then substr(conversation.customer, 2) end as group_id,
      conversation.status, conversation.unread_messages, conversation.message_count, conversation.expired_count,
      conversation.last_text, conversation.last_direction, conversation.last_message_at, conversation.last_inbound_at,
      page.assignee, conversation.created_at, conversation.updated_at
    from (
      select activity.conversation_id as id, activity.active_at, activity.assignee
      from conversation_activity activity
      where activity.company_id = ${companyId} ${beyond}
      order by activity.active_at ${direction}, activity.conversation_id ${direction}
      offset ${offset}
      limit ${limit}
    ) as page
    join conversations conversation on conversation.company_id = ${companyId} and conversation.id = page.id
    join contacts contact
      on (contact.company_id, contact.id) = (conversation.company_id, conversation.contact_id)
    join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
    order by page.active_at ${direction}, page.id ${direction}
  `
}

/** The members to change: those that are given. */
export type ConversationChange = {
  status?: ConversationStatus | undefined
  unreadMessages?: 0 | undefined
  assignee?: string | null | undefined
}

/** Changes what is given; false when the company has no such conversation. */
export async function updateConversation(
  db: Db,
  companyId: number,
  id: number,
  { status, unreadMessages, assignee }: ConversationChange,
): Promise<boolean> {
  // The conversation is locked before its activity, as everywhere.
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
  text: string | null
  media: {
    link?: string | null
    providerMediaId?: string | null
    mimeType?: string | null
    filename?: string | null
  } | null
  reaction: string | null
  status: string
  error: { code: number | null; title: string | null; details: string | null } | null
  senderName: string | null
  sentAt: Date | null
  editedAt: Date | null
  revokedAt: Date | null
}

/** Messages of a conversation by their seq, newest first: both ends included. */
export function listMessages(
  db: Db,
  companyId: number,
  conversationId: number,
  range: { from: number; to: number },
): Promise<Message[]> {
  return db<Message[]>`
    select
      message.id, message.seq, message.wamid, message.direction, message.type, message.text, message.media,
      message.status, message.error, message.sender_name, message.sent_at, message.edited_at, message.revoked_at,
      (
        select reaction.emoji
        from message_reactions reaction
        where reaction.company_id = message.company_id and reaction.target_wamid = message.wamid
        order by reaction.occurred_at desc, reaction.ordinal desc
        limit 1
      ) as reaction
    from messages message
    where message.company_id = ${companyId}
      and message.conversation_id = ${conversationId}
      and message.seq between ${range.from} and ${range.to}
    order by message.seq desc
  `
}

/** The place of a message in its conversation. */
export async function findSeq(
  db: Db,
  companyId: number,
  conversationId: number,
  messageId: number,
): Promise<number | undefined> {
  const rows = await db<{ seq: number }[]>`
    select seq
    from messages
    where company_id = ${companyId} and id = ${messageId} and conversation_id = ${conversationId}
  `
  return rows[0]?.seq
}

/** Whether a customer has written to any of the company's numbers since. */
export async function hasWrittenSince(db: Db, companyId: number, customer: string, since: Date): Promise<boolean> {
  const rows = await db`
    select
    from conversations
    where company_id = ${companyId} and customer = ${customer} and last_inbound_at >= ${since}
    limit 1
  `
  return rows.length > 0
}
