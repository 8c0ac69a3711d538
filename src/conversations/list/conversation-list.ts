import { type Static, Type } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { findHidden, type HiddenMatches, toHiddenMember } from '../../http/paging/hidden-matches.ts'
import { pageQuery, parsePage, toPagination, toUncountedPagination, withoutPages } from '../../http/paging/paging.ts'
import { validationError } from '../../platform/errors.ts'
import { findConversation } from '../conversation-store.ts'
import {
  countFiltered,
  findLookedAtEnd,
  type ListedConversation,
  listConversations,
  listConversationsFrom,
  listFiltered,
  readConversationTotal,
} from './conversation-list-store.ts'
import {
  type ActivityPlace,
  type ConversationCursor,
  type ConversationFilter,
  conversationCursorQuery,
  MAX_FILTERED_OFFSET,
  MAX_RANKED,
  readConversationCursor,
  toConversationCursor,
  unknownConversationCursor,
} from './conversation-source.ts'
import { findMatches, type MatchContacts } from './profile-search.ts'

const PAGES = { defaultSize: 20, maxSize: 100 }
const MAX_ASSIGNEE = 100
const MAX_SEARCH = 200

export const ConversationQuery = Type.Object({
  ...pageQuery(PAGES),
  ...conversationCursorQuery,
  status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
  unread: Type.Optional(Type.Boolean({ description: 'If true, returns only conversations with unread messages.' })),
  channelId: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of a connected number.' }),
  ),
  assignee: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_ASSIGNEE, description: 'Name of the person who answers.' }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: MAX_SEARCH,
      description:
        "Part of the contact's name, email or phone, or of the WhatsApp profile name, ignoring case, accents and width.",
    }),
  ),
})
type ConversationQuery = Static<typeof ConversationQuery>

/**
 * Returns one page, newest activity first. Only unfiltered pages have a total. A search with many matches can return a
 * short page, whose next cursor continues after the examined conversations. 422 for an unknown cursor, or a filtered
 * page beyond record 10,000.
 */
export async function readConversationPage(
  db: Db,
  companyId: number,
  query: ConversationQuery,
  matchContacts: MatchContacts,
) {
  const page = parsePage(query, PAGES)
  const asked = await toFilter(db, companyId, query, matchContacts)
  const isFiltered = Object.values(asked).some((value) => value !== undefined)
  const { filter, cursor } = inOneOrder(asked, readConversationCursor(query), await isRankable(db, companyId, asked))
  if (cursor !== undefined) {
    const { rows, around } = await listFrom(db, companyId, cursor, page.pageSize, filter)
    const pagination = isFiltered
      ? toUncountedPagination(1, false)
      : toPagination(await readConversationTotal(db, companyId), 1, page.pageSize)
    return { rows, pagination: { ...withoutPages(pagination), ...toCursors(around) } }
  }
  if (isFiltered) {
    const shown = await readFiltered(db, companyId, filter, page)
    const isNone = shown.rows.length === 0 && page.page === 1 && shown.pagination.nextCursor === null
    return { ...shown, ...toHiddenMember(isNone ? await findHiddenConversations(db, companyId, filter) : null) }
  }
  const total = await readConversationTotal(db, companyId)
  // Reads one extra row: the total may lag behind the rows.
  const found = await listConversations(db, companyId, { offset: page.offset, limit: page.pageSize + 1, total })
  const rows = found.slice(0, page.pageSize)
  const pagination = toPagination(total, page.page, page.pageSize)
  const around = {
    previous: pagination.prevPage === null ? undefined : placeOf(rows.at(0)),
    next: found.length > rows.length ? placeOf(rows.at(-1)) : undefined,
  }
  return { rows, pagination: { ...pagination, ...toCursors(around) } }
}

async function isRankable(db: Db, companyId: number, { matches }: ConversationFilter): Promise<boolean> {
  if (matches === undefined) return false
  return 'contacts' in matches || (await readConversationTotal(db, companyId)) <= MAX_RANKED
}

/** Keeps the cursor's order if possible, else must not skip conversations. */
function inOneOrder(
  filter: ConversationFilter,
  cursor: ConversationCursor | undefined,
  isRanked: boolean,
): { filter: ConversationFilter; cursor: ConversationCursor | undefined } {
  if (cursor === undefined) return { filter: { ...filter, isRanked }, cursor }
  const { starts, ...at } = { starts: undefined, ...cursor.at }
  if (starts === undefined || isRanked) return { filter: { ...filter, isRanked: starts !== undefined }, cursor }
  return { filter, cursor: starts ? undefined : { ...cursor, at } }
}

type Around = { previous: ActivityPlace | undefined; next: ActivityPlace | undefined }

const placeOf = (row: ListedConversation | undefined): ActivityPlace | undefined =>
  row && { activityUs: row.activityUs, id: row.id, ...(row.starts !== null && { starts: row.starts }) }

const toCursors = ({ previous, next }: Around) => ({
  nextCursor: next === undefined ? null : toConversationCursor(next),
  previousCursor: previous === undefined ? null : toConversationCursor(previous),
})

async function toFilter(
  db: Db,
  companyId: number,
  { status, unread, channelId, assignee, search }: ConversationQuery,
  matchContacts: MatchContacts,
): Promise<ConversationFilter> {
  const matches = search === undefined ? undefined : await findMatches(db, companyId, search, matchContacts)
  return { status, isUnread: unread || undefined, senderId: channelId, assignee, matches }
}

async function readFiltered(
  db: Db,
  companyId: number,
  filter: ConversationFilter,
  { page, pageSize, offset }: { page: number; pageSize: number; offset: number },
) {
  if (offset >= MAX_FILTERED_OFFSET) {
    const message = `must lie within the first ${MAX_FILTERED_OFFSET} records of a filtered list: use before`
    throw validationError([{ path: 'page', message }])
  }
  const rows = await listFiltered(db, companyId, filter, { offset, limit: pageSize + 1 })
  const hasNext = rows.length > pageSize && offset + pageSize < MAX_FILTERED_OFFSET
  const shown = rows.slice(0, pageSize)
  const pagination = toUncountedPagination(page, hasNext)
  const around = {
    previous: page === 1 ? undefined : placeOf(shown.at(0)),
    next: rows.length > pageSize ? placeOf(shown.at(-1)) : await findLookedAtEnd(db, companyId, filter),
  }
  return { rows: shown, pagination: { ...pagination, ...toCursors(around) } }
}

async function listFrom(
  db: Db,
  companyId: number,
  cursor: ConversationCursor,
  pageSize: number,
  filter: ConversationFilter,
): Promise<{ rows: ListedConversation[]; around: Around }> {
  const { side, at } = cursor
  const found = await listConversationsFrom(db, companyId, cursor, pageSize + 1, filter)
  if (found.length === 0 && 'chatId' in at && (await findConversation(db, companyId, at.chatId)) === undefined) {
    throw unknownConversationCursor(side)
  }
  const isMore = found.length > pageSize
  const end = isMore ? undefined : await findLookedAtEnd(db, companyId, filter, cursor)
  if (side === 'before') {
    const rows = found.slice(0, pageSize)
    return { rows, around: { previous: placeOf(rows.at(0)), next: isMore ? placeOf(rows.at(-1)) : end } }
  }
  const rows = isMore ? found.slice(1) : found
  return { rows, around: { previous: isMore ? placeOf(rows.at(0)) : end, next: placeOf(rows.at(-1)) } }
}

const FILTER_MEMBERS = { status: 'status', unread: 'isUnread', channelId: 'senderId', assignee: 'assignee' } as const
const FILTER_NAMES = ['status', 'unread', 'channelId', 'assignee'] as const

async function findHiddenConversations(
  db: Db,
  companyId: number,
  filter: ConversationFilter,
): Promise<HiddenMatches | null> {
  const { matches } = filter
  const present = FILTER_NAMES.filter((name) => filter[FILTER_MEMBERS[name]] !== undefined)
  if (matches === undefined || present.length === 0) return null
  return findHidden(present, (kept) => {
    const others = Object.fromEntries(kept.map((name) => [FILTER_MEMBERS[name], filter[FILTER_MEMBERS[name]]]))
    return countFiltered(db, companyId, { ...others, matches })
  })
}
