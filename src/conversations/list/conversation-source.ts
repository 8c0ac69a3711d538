import { type Fragment, sql } from '../../db/connect.ts'
import { startsWord } from '../../db/word-start.ts'
import { type ConversationFilter, MAX_EXAMINED, type RankedMatch, type SearchMatches } from './conversation-filter.ts'

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
