import { type Db, type Fragment, type Pool, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { indexedText } from '../../platform/text/search-text.ts'
import { isAmong, isRecent } from '../message-store.ts'

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

/** Copies each member by name: with rest and spread, handling an event took 0.15 ms of processor time instead of 0.12. */
const toRow = (write: ConversationWrite) => ({
  companyId: write.companyId,
  id: write.id,
  senderId: write.senderId,
  customerId: write.customerId,
  userId: write.userId,
  profileName: write.profileName,
  profileSearch: typeof write.profileName === 'string' ? indexedText(write.profileName) : null,
  messages: write.messages ?? 0,
  unread: write.unread ?? 0,
  isAnswered: write.isAnswered,
  isWrittenTo: write.isWrittenTo,
  isClosed: write.isClosed,
  lastText: write.lastText,
  lastDirection: write.lastDirection,
  lastMessageAt: write.lastMessageAt,
  lastInboundAt: write.lastInboundAt,
  nextMessageMs: write.nextMessageMs,
  openedAt: write.window?.openedAt,
  isNewWindow: write.window?.isNew,
  referral: write.window?.referral,
  place: write.place,
})

type ConversationRow = ReturnType<typeof toRow>

const fromRows = (rows: readonly ConversationRow[]) =>
  inputRows(rows, {
    bigint: ['companyId', 'id', 'senderId', 'customerId'],
    text: ['userId', 'profileName', 'profileSearch', 'lastText', 'lastDirection'],
    integer: ['messages', 'unread', 'place'],
    boolean: ['isAnswered', 'isWrittenTo', 'isClosed', 'isNewWindow'],
    timestamptz: ['lastMessageAt', 'lastInboundAt', 'openedAt'],
    'double precision': ['nextMessageMs'],
    jsonb: ['referral'],
  })

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

const updateConversations = (tx: Db, rows: readonly ConversationRow[], at: Date) => tx`
  with input as materialized (
    select * from ${fromRows(rows)}
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

const insertConversations = (tx: Db, rows: readonly ConversationRow[], at: Date) => tx`
  with input as materialized (
    select * from ${fromRows(rows)}
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

/**
 * Marks conversations as read up to messages the provider may have accepted; text and media also take over from its
 * agent. A statement of its own, since one that waits for a lock misses messages written meanwhile.
 */
export async function readUpTo(tx: Db, messages: readonly { companyId: number; id: number }[]): Promise<void> {
  const answered = answeredBy(messages)
  await Promise.all([
    // Must look up messages below the sort, none after the first lock (docs/decisions/0016).
    tx`
      select
      from (${answered}) as answered
      join conversations conversation
        on (conversation.company_id, conversation.id) = (answered.company_id, answered.conversation_id)
      where ${isUnreadOrTaken}
      order by conversation.company_id, conversation.id
      for no key update of conversation
    `,
    tx`
      with answered as materialized (${answered}),
      changed as (
        update conversations conversation
        set
          unread_messages = least(conversation.unread_messages, (${writtenAfter(sql`answered.seq`)})),
          controlled_by = case when answered.taken_at > conversation.controlled_at then 'business' else conversation.controlled_by end,
          controlled_at = case when answered.taken_at > conversation.controlled_at then answered.taken_at else conversation.controlled_at end
        from answered
        where (conversation.company_id, conversation.id) = (answered.company_id, answered.conversation_id)
          and ${isUnreadOrTaken}
        returning conversation.company_id, conversation.id, conversation.unread_messages
      )
      ${showUnread}
    `,
  ])
}

const answeredBy = (messages: readonly { companyId: number; id: number }[]) => sql`
  select message.company_id, message.conversation_id, max(message.seq) as seq,
    max(message.created_at) filter (where message.template is null) as taken_at
  from ${inputRows(messages, { bigint: ['companyId', 'id'] })}
  join messages message on (message.company_id, message.id) = (input.company_id, input.id)
  where ${isAmong(messages.map(({ id }) => id))}
  group by message.company_id, message.conversation_id
`

const isUnreadOrTaken = sql`(conversation.unread_messages > 0 or answered.taken_at > conversation.controlled_at)`

const writtenAfter = (seq: Fragment) => sql`
  select count(*)::integer
  from messages message
  where (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
    and message.seq > ${seq}
    and ${isRecent()}
    and message.direction = 'inbound'
`

const showUnread = sql`
  update conversation_activity activity
  set is_unread = changed.unread_messages > 0
  from changed
  where (activity.company_id, activity.conversation_id) = (changed.company_id, changed.id)
    and activity.is_unread <> (changed.unread_messages > 0)
`

/** Marks a conversation as read up to a seq. */
export const markRead = (db: Pool, companyId: number, conversationId: number, seq: number): Promise<void> =>
  db.begin(
    'isolation level read committed',
    async (tx) => {
      await Promise.all([
        tx`
          select from conversations where (company_id, id) = (${companyId}::bigint, ${conversationId}::bigint) for no key update
        `,
        tx`
          with changed as (
            update conversations conversation
            set
              unread_messages = least(conversation.unread_messages, (${writtenAfter(sql`${seq}::bigint`)})),
              updated_at = now()
            where conversation.company_id = ${companyId} and conversation.id = ${conversationId}
            returning conversation.company_id, conversation.id, conversation.unread_messages
          )
          ${showUnread}
        `,
        tx.commit(),
      ])
    },
    { pipelined: true },
  )
