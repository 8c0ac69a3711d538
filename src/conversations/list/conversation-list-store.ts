import { type Db, type Fragment, sql } from '../../db/connect.ts'
import {
  type ActivityPlace,
  type ConversationCursor,
  type ConversationFilter,
  type ConversationStatus,
  MAX_EXAMINED,
  sourceOf,
} from './conversation-source.ts'

export type Conversation = {
  id: number
  senderId: number
  phoneNumber: string
  phoneName: string
  contactId: number
  /** Digits as written; null: hidden, or now another person's. */
  phone: string | null
  firstName: string | null
  lastName: string | null
  profileName: string | null
  /** Valid for this number only. */
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
  /** Null: deleted. */
  lastStatus: string | null
  lastMessageId: number | null
  lastKind: string | null
  /** Products in an order, or contact cards. */
  lastItemCount: number | null
  lastInboundAt: Date | null
  assignee: string | null
  controlledBy: 'business' | 'agent' | null
  /** Ad or post that started the last window, in the provider's format. */
  referral: object | null
  createdAt: Date
  updatedAt: Date
}

export type ListedConversation = Conversation & Pick<ActivityPlace, 'activityUs'> & { readonly starts: boolean | null }

/** Reads a stored total, without counting. */
export async function readConversationTotal(db: Db, companyId: number): Promise<number> {
  const rows = await db<{ total: number }[]>`
    select coalesce(sum(total), 0)::bigint as total from conversation_counts where company_id = ${companyId}
  `
  return rows[0]?.total ?? 0
}

/** Lists a range, newest activity first. The far half is read from its own end. */
export async function listConversations(
  db: Db,
  companyId: number,
  { offset, limit, total }: { offset: number; limit: number; total: number },
): Promise<ListedConversation[]> {
  if (offset >= total) return []
  const behind = Math.max(0, total - offset - limit)
  if (offset <= behind) return selectConversations(db, companyId, { order: 'desc', offset, limit })
  const count = Math.min(limit, total - offset)
  const rows = await selectConversations(db, companyId, { order: 'asc', offset: behind, limit: count })
  return rows.reverse()
}

/** Lists a cursor's neighbours in list order; none if the cursor's conversation doesn't exist. */
export async function listConversationsFrom(
  db: Db,
  companyId: number,
  cursor: ConversationCursor,
  limit: number,
  filter: ConversationFilter = {},
): Promise<ListedConversation[]> {
  const isBefore = cursor.side === 'before'
  const rows = await selectConversations(db, companyId, {
    order: isBefore ? 'desc' : 'asc',
    offset: 0,
    limit,
    where: filter.isRanked ? fits(filter) : sql`${fits(filter)} ${beyond(companyId, cursor)}`,
    filter,
    ...(filter.isRanked && { cursor }),
  })
  return isBefore ? rows : rows.reverse()
}

function beyond(companyId: number, { side, at }: ConversationCursor): Fragment {
  const isBeyond = side === 'before' ? sql`<` : sql`>`
  if ('chatId' in at)
    return sql`
      and (activity.active_at, activity.conversation_id) ${isBeyond} (
        select anchor.active_at, anchor.conversation_id
        from conversation_activity anchor
        where anchor.company_id = ${companyId} and anchor.conversation_id = ${at.chatId}
      )
    `
  const { activityUs, id, starts } = at
  const [rank, own] = starts === undefined ? [sql``, sql``] : [sql`activity.starts,`, sql`${starts}::boolean,`]
  return sql`
    and (${rank} activity.active_at, activity.conversation_id) ${isBeyond} (
      ${own} timestamptz 'epoch' + ${activityUs}::bigint * interval '1 microsecond', ${id}::bigint
    )
  `
}

/** Finds where a search with many matches stops examining, if before the list's end. */
export async function findLookedAtEnd(
  db: Db,
  companyId: number,
  filter: ConversationFilter,
  cursor?: ConversationCursor,
): Promise<ActivityPlace | undefined> {
  if (filter.matches === undefined || 'contacts' in filter.matches || filter.isRanked) return undefined
  const direction = cursor?.side === 'after' ? sql`asc` : sql`desc`
  const [end] = await db<ActivityPlace[]>`
    select (extract(epoch from activity.active_at) * 1000000)::bigint as activity_us, activity.conversation_id as id
    from conversation_activity activity
    where activity.company_id = ${companyId}
      ${fits(filter)}
      ${cursor === undefined ? sql`` : beyond(companyId, cursor)}
    order by activity.active_at ${direction}, activity.conversation_id ${direction}
    offset ${MAX_EXAMINED - 1}
    limit 1
  `
  return end
}

export const listFiltered = (
  db: Db,
  companyId: number,
  filter: ConversationFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<ListedConversation[]> =>
  selectConversations(db, companyId, { order: 'desc', offset, limit, where: fits(filter), filter })

/** Counts matches, within the latest `MAX_EXAMINED` conversations if there are many. */
export async function countFiltered(
  db: Db,
  companyId: number,
  filter: ConversationFilter,
): Promise<{ total: number; isExact: boolean }> {
  const listed = sql`${fits(filter)} order by activity.active_at desc, activity.conversation_id desc`
  const { from, and = fits(filter) } = sourceOf(companyId, filter, listed)
  const [row] = await db<{ total: number }[]>`
    select count(*) as total from ${from} as activity where activity.company_id = ${companyId} ${and}
  `
  return { total: row?.total ?? 0, isExact: (await findLookedAtEnd(db, companyId, filter)) === undefined }
}

export const listConversationsByIds = (db: Db, companyId: number, ids: readonly number[]): Promise<Conversation[]> =>
  selectConversations(db, companyId, {
    order: 'desc',
    offset: 0,
    limit: ids.length,
    where: sql`and activity.conversation_id = any (${[...ids]}::bigint[])`,
  })

type Range = {
  order: 'asc' | 'desc'
  offset: number
  limit: number
  where?: Fragment
  filter?: ConversationFilter
  cursor?: ConversationCursor
}

function selectConversations(db: Db, companyId: number, range: Range): Promise<ListedConversation[]> {
  const { order, offset, limit, where = sql``, filter = {}, cursor } = range
  const direction = order === 'desc' ? sql`desc` : sql`asc`
  const listed = sql`order by activity.active_at ${direction}, activity.conversation_id ${direction}`
  const { from, and = where } = sourceOf(companyId, filter, sql`${where} ${listed}`)
  const rank = filter.isRanked ? sql`activity.starts ${direction},` : sql``
  const shownRank = filter.isRanked ? sql`page.starts ${direction},` : sql``
  const sorted = sql`order by ${rank} activity.active_at ${direction}, activity.conversation_id ${direction}`
  return db<ListedConversation[]>`
    select
      (extract(epoch from page.active_at) * 1000000)::bigint as activity_us,
      conversation.id, customer.contact_id, customer.phone, contact.first_name, contact.last_name,
      conversation.profile_name, conversation.user_id,
      sender.id as sender_id, sender.phone_number, sender.phone_name,
      case when customer.phone is null and conversation.user_id is null then (
        select substr(identity.identity, 2)
        from customer_identities identity
        where (identity.company_id, identity.customer_id) = (customer.company_id, customer.id)
          and identity.identity like '#%'
        limit 1
      ) end as group_id,
      conversation.status, conversation.unread_messages, conversation.message_count, conversation.expired_count,
      conversation.last_text, conversation.last_direction, conversation.last_message_at, conversation.last_inbound_at,
      last.id as last_message_id, last.status as last_status, last.kind as last_kind,
      jsonb_array_length(
        case jsonb_typeof(last.items) when 'array' then last.items end
      ) as last_item_count,
      page.starts, page.assignee, conversation.controlled_by, conversation.referral, conversation.created_at,
      conversation.updated_at
    from (
      select
        activity.conversation_id as id, activity.active_at, activity.assignee,
        ${filter.isRanked ? sql`activity.starts` : sql`null::boolean`} as starts
      from ${from} as activity
      where activity.company_id = ${companyId} ${and} ${cursor === undefined ? sql`` : beyond(companyId, cursor)}
      ${sorted}
      offset ${offset}
      limit ${limit}
    ) as page
    join conversations conversation on conversation.company_id = ${companyId} and conversation.id = page.id
    join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
    join contacts contact on (contact.company_id, contact.id) = (customer.company_id, customer.contact_id)
    join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
    left join lateral (
      select
        message.id,
        message.status,
        message_kind(message.kind, message.template, message.content, message.media, message.type) as kind,
        coalesce(message.content #> '{order,product_items}', message.content -> 'contacts') as items
      from messages message
      where (message.company_id, message.conversation_id, message.seq)
        = (conversation.company_id, conversation.id, conversation.message_count)
        and (
          message.id >= message_id_floor(least(conversation.last_message_at, conversation.updated_at) - interval '2 days')
            and message.id <= message_id_floor(conversation.updated_at + interval '2 days') + 999999999999
          or message.id < 1000000000000
        )
      limit 1
    ) as last on true
    order by ${shownRank} page.active_at ${direction}, page.id ${direction}
  `
}

/** Each condition is an index range in list order. */
function fits({ status, isUnread, senderId, assignee }: ConversationFilter): Fragment {
  return sql`
    ${status === undefined ? sql`` : sql`and activity.status = ${status}`}
    ${isUnread ? sql`and activity.is_unread` : sql``}
    ${senderId === undefined ? sql`` : sql`and activity.sender_id = ${senderId}`}
    ${assignee === undefined ? sql`` : sql`and activity.assignee = ${assignee}`}
  `
}
