import { Type } from 'typebox'
import { type Fragment, sql } from '../../db/connect.ts'
import { startsWord } from '../../db/word-start.ts'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'

export type ConversationStatus = 'open' | 'closed' | 'snoozed'

export type RankedMatch = { readonly id: number; readonly starts: boolean }

/** Few matches are listed by id; many are given as texts to look for in `search_text` and `profile_search`. */
export type SearchMatches =
  | { readonly contacts: readonly RankedMatch[]; readonly conversations: readonly RankedMatch[] }
  | { readonly texts: readonly string[]; readonly profileText: string | null }

export type ConversationFilter = {
  readonly status?: ConversationStatus | undefined
  readonly isUnread?: boolean | undefined
  readonly senderId?: number | undefined
  readonly assignee?: string | undefined
  readonly matches?: SearchMatches | undefined
  /** Conversations with a word starting with the search come first. */
  readonly isRanked?: boolean | undefined
}

export const MAX_FILTERED_OFFSET = 10_000
/** Per request, latest activity first, for searches with many matches. */
export const MAX_EXAMINED = 10_000
/** Ranking many matches reads the whole list for every page. */
export const MAX_RANKED = 1_000

/** Last activity in microseconds since 1970; the id breaks ties. */
export type ActivityPlace = {
  readonly activityUs: number
  readonly id: number
  /** Ranked lists only: whether a word starts with the search. */
  readonly starts?: boolean
}

export type ConversationCursor = {
  readonly side: 'before' | 'after'
  readonly at: ActivityPlace | { readonly chatId: number }
}

const ORDER = 'active_at'

const cursor = (description: string) => Type.Optional(Type.String({ description }))

export const conversationCursorQuery = {
  before: cursor(
    'Returns the conversations after this cursor instead of a page. A `pagination` cursor keeps its place when conversations become active; a conversation id means its present place. Any other value returns 422.',
  ),
  after: cursor('Returns the conversations before this cursor, which takes the same values as `before`.'),
}

export const toConversationCursor = ({ activityUs, ...place }: ActivityPlace): string =>
  encodeCursor(ORDER, { value: activityUs, ...place })

/** Parses `before` or `after`; 422 unless a cursor of this list or an id. */
export function readConversationCursor(query: { before?: string; after?: string }): ConversationCursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  if (text === undefined) return undefined
  const chatId = parseId(text)
  if (chatId !== undefined) return { side, at: { chatId } }
  const position = decodeCursor(text, ORDER, isMicroseconds)
  if (position === undefined) throw unknownConversationCursor(side)
  const { value: activityUs, ...place } = position
  return { side, at: { activityUs, ...place } }
}

export const unknownConversationCursor = (path: string) =>
  validationError([{ path, message: 'must be a cursor of this list, or the id of a conversation' }])

const MAX_OF_CONTACT = 100

/** Builds the list source: sorts few matches; for many, examines up to `MAX_EXAMINED` conversations in list order. */
export function sourceOf(
  companyId: number,
  { matches, isRanked }: Pick<ConversationFilter, 'matches' | 'isRanked'>,
  listed: Fragment,
): { from: Fragment; and?: Fragment } {
  if (matches === undefined) return { from: sql`conversation_activity` }
  if ('contacts' in matches) return { from: fewConversations(companyId, matches) }
  const examined = (column: Fragment) => sql`(
    select activity.* ${column} from conversation_activity activity
    where activity.company_id = ${companyId} ${listed}
    limit ${MAX_EXAMINED}
  )`
  const { contains, starts } = comparisons(matches)
  // A select column would be computed beyond the page as well.
  if (!isRanked) return { from: examined(sql``), and: sql`and ${ofNames(companyId, contains)}` }
  const rank = ofNames(companyId, sql`case when ${contains} then ${starts} end`)
  return { from: examined(sql`, ${rank} as starts`), and: sql`and activity.starts is not null` }
}

function comparisons({ texts, profileText }: Extract<SearchMatches, { texts: unknown }>) {
  const places = [
    ...texts.map((text) => ({ column: sql`contact.search_text`, text })),
    ...(profileText === null ? [] : [{ column: sql`coalesce(existing.profile_search, '')`, text: profileText }]),
  ]
  return {
    contains: oneOf(places.map(({ column, text }) => sql`strpos(${column}, ${text}) > 0`)),
    starts: oneOf(places.map(({ column, text }) => startsWord(column, text))),
  }
}

const ofNames = (companyId: number, value: Fragment): Fragment => sql`(
  select ${value}
  from conversations existing
  join customers customer on (customer.company_id, customer.id) = (existing.company_id, existing.customer_id)
  join contacts contact on (contact.company_id, contact.id) = (customer.company_id, customer.contact_id)
  where (existing.company_id, existing.id) = (${companyId}, activity.conversation_id)
)`

const oneOf = (conditions: readonly Fragment[]): Fragment =>
  conditions.reduce((before, next) => sql`${before} or ${next}`)

/** A lateral limit forces one index probe per row, regardless of statistics. */
function fewConversations(
  companyId: number,
  { contacts, conversations }: Extract<SearchMatches, { contacts: unknown }>,
): Fragment {
  const named = sql`union all select id, starts from ${rowsOf(conversations)}`
  return sql`(
    select activity.*, conversation.starts
    from (
      select found.id, bool_or(found.starts) as starts
      from (
      select conversation.id, match.starts
      from ${rowsOf(contacts)}
      cross join lateral (
        select existing.id
        from customers customer
        join conversations existing on (existing.company_id, existing.customer_id) = (customer.company_id, customer.id)
        where (customer.company_id, customer.contact_id) = (${companyId}, match.id)
        limit ${MAX_OF_CONTACT}
      ) as conversation
      ${conversations.length === 0 ? sql`` : named}
      ) as found
      group by found.id
    ) as conversation
    cross join lateral (
      select existing.* from conversation_activity existing
      where (existing.company_id, existing.conversation_id) = (${companyId}, conversation.id)
      limit 1
    ) as activity
  )`
}

const rowsOf = (matches: readonly RankedMatch[]): Fragment => sql`
  unnest(${matches.map(({ id }) => id)}::bigint[], ${matches.map(({ starts }) => starts)}::boolean[]) as match (id, starts)
`
