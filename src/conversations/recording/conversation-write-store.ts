import { type Db, jsonRows, sql } from '../../db/connect.ts'
import { indexedText } from '../../platform/text/search-text.ts'

/** Whose conversation it is; `userId` is the customer's shown user id. */
type ConversationPlace = {
  companyId: number
  id: number
  isNew: boolean
  senderId: number
  customerId: number
  userId: string | null
}

/** What a batch of sends or inbound messages changes; absent or null members change nothing. */
type ConversationChange = {
  profileName: string | null
  messages: number
  unread: number
  isAnswered: boolean
  isWrittenTo: boolean
  isClosed: boolean
  lastText: string | null
  lastDirection: 'inbound' | 'outbound' | null
  lastMessageAt: Date | null
  lastInboundAt: Date | null
  /** Next free slot of the pair throttle, in ms since 1970. */
  nextMessageMs: number
  /** Last 24-hour window in the batch; `isNew`: opened by the batch. `referral` is the window's first. */
  window: { openedAt: Date; isNew: boolean; referral: object | null } | null
  /** Orders records from the same moment; null: no record. */
  place: number | null
}

export type ConversationWrite = ConversationPlace & Partial<ConversationChange>

/** Writes conversations with their place in the list. The caller must hold the customer locks. */
export async function writeConversations(tx: Db, conversations: readonly ConversationWrite[], at: Date): Promise<void> {
  const created = conversations.filter(({ isNew }) => isNew).map(toRow)
  const changed = conversations.filter(({ isNew }) => !isNew).map(toRow)
  await Promise.all([
    changed.length > 0 && updateConversations(tx, changed, at),
    created.length > 0 && insertConversations(tx, created, at),
  ])
}

const toRow = (conversation: ConversationWrite) => ({
  company_id: conversation.companyId,
  id: conversation.id,
  sender_id: conversation.isNew ? conversation.senderId : undefined,
  customer_id: conversation.customerId,
  user_id: conversation.userId ?? undefined,
  profile_name: conversation.profileName ?? undefined,
  profile_search: typeof conversation.profileName === 'string' ? indexedText(conversation.profileName) : undefined,
  messages: conversation.messages ?? 0,
  unread: conversation.unread ?? 0,
  is_answered: conversation.isAnswered || undefined,
  is_written_to: conversation.isWrittenTo || undefined,
  is_closed: conversation.isClosed || undefined,
  last_text: conversation.lastText ?? undefined,
  last_direction: conversation.lastDirection ?? undefined,
  last_message_at: conversation.lastMessageAt ?? undefined,
  last_inbound_at: conversation.lastInboundAt ?? undefined,
  next_message_ms: conversation.nextMessageMs,
  opened_at: conversation.window?.openedAt,
  is_new_window: conversation.window?.isNew || undefined,
  referral: conversation.window?.referral ?? undefined,
  place: conversation.place ?? undefined,
})

const fromRows = (tx: Db, rows: readonly object[]) => sql`
  jsonb_to_recordset(${jsonRows(tx, rows)}) as input (
    company_id bigint, id bigint, sender_id bigint, customer_id bigint, user_id text, profile_name text,
    profile_search text, messages integer, unread integer, is_answered boolean, is_written_to boolean,
    is_closed boolean, last_text text, last_direction text, last_message_at timestamptz, last_inbound_at timestamptz,
    next_message_ms double precision, opened_at timestamptz, is_new_window boolean, referral jsonb, place integer
  )
`

/** The last window's first referral: drops those from windows before the batch, keeps those from later ones. */
const referralOf = sql`
  case
    when input.opened_at is null then existing.referral
    when input.is_new_window or existing.last_inbound_at is null
      or input.opened_at >= existing.last_inbound_at + interval '24 hours' then input.referral
    when input.opened_at <= existing.last_inbound_at - interval '24 hours' then existing.referral
    else coalesce(existing.referral, input.referral)
  end
`

/** Keeps the order within one moment. */
const activeAt = (at: Date) => sql`${at}::timestamptz + input.place * interval '1 microsecond'`

const updateConversations = (tx: Db, rows: readonly object[], at: Date) => tx`
  with input as materialized (
    select * from ${fromRows(tx, rows)}
  ),
  changed as (
    update conversations existing
    set
      customer_id = input.customer_id,
      user_id = input.user_id,
      profile_name = coalesce(input.profile_name, existing.profile_name),
      profile_search = coalesce(input.profile_search, existing.profile_search),
      status = case when input.is_closed then 'closed' when input.is_written_to then 'open' else existing.status end,
      unread_messages = input.unread + case when input.is_answered then 0 else existing.unread_messages end,
      message_count = existing.message_count + input.messages,
      last_text = case when input.messages > 0 then input.last_text else existing.last_text end,
      last_direction = coalesce(input.last_direction, existing.last_direction),
      last_message_at = coalesce(input.last_message_at, existing.last_message_at),
      last_inbound_at = greatest(existing.last_inbound_at, input.last_inbound_at),
      next_message_at = coalesce(to_timestamp(input.next_message_ms / 1000), existing.next_message_at),
      referral = ${referralOf},
      updated_at = ${at}
    from input
    where (existing.company_id, existing.id) = (input.company_id, input.id)
    returning existing.company_id, existing.id, existing.status, existing.unread_messages > 0 as is_unread,
      ${activeAt(at)} as active_at
  )
  update conversation_activity activity
  set
    active_at = greatest(activity.active_at, changed.active_at), -- a slower clock never moves a conversation back
    status = changed.status,
    is_unread = changed.is_unread
  from changed
  where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
`

const insertConversations = (tx: Db, rows: readonly object[], at: Date) => tx`
  with input as materialized (
    select * from ${fromRows(tx, rows)}
  ),
  created as (
    insert into conversations (
      company_id, id, sender_id, customer_id, user_id, profile_name, profile_search, status, unread_messages,
      message_count, last_text, last_direction, last_message_at, last_inbound_at, next_message_at, referral,
      created_at, updated_at
    )
    overriding system value
    select
      company_id, id, sender_id, customer_id, user_id, profile_name, profile_search,
      case when is_closed then 'closed' else 'open' end, unread, messages, last_text, last_direction, last_message_at,
      last_inbound_at, to_timestamp(next_message_ms / 1000), referral, ${at}, ${at}
    from input
  ),
  listed as (
    insert into conversation_activity (company_id, conversation_id, active_at, sender_id, status, is_unread)
    select
      input.company_id, input.id, ${activeAt(at)}, input.sender_id,
      case when input.is_closed then 'closed' else 'open' end, input.unread > 0
    from input
  )
  insert into conversation_counts as existing (company_id, total)
  select company_id, count(*)
  from input
  group by company_id
  order by company_id
  on conflict (company_id, writer) do update set total = existing.total + excluded.total
`
