import { type Static, Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { validationError } from '../errors.ts'
import {
  type Cursor,
  cursorQuery,
  pageQuery,
  parsePage,
  readCursor,
  toPagination,
  toUncountedPagination,
  unknownCursor,
  withoutPages,
} from '../http/paging.ts'
import { type ConversationFilter, MAX_FILTERED_OFFSET, type MatchedContacts } from './conversation-filter.ts'
import {
  type Conversation,
  listConversations,
  listConversationsFrom,
  listFiltered,
  readConversationTotal,
} from './conversation-list-store.ts'
import { findConversation } from './conversation-store.ts'

const PAGES = { defaultSize: 20, maxSize: 100 }
const MAX_ASSIGNEE = 100
const MAX_SEARCH = 200

export const ConversationQuery = Type.Object({
  ...pageQuery(PAGES),
  ...cursorQuery,
  status: Type.Optional(Type.Enum(['open', 'closed', 'snoozed'])),
  unread: Type.Optional(Type.Boolean({ description: 'True returns only conversations with unread messages.' })),
  channelId: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The id of a connected number.' }),
  ),
  assignee: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_ASSIGNEE, description: 'The name of the person who answers.' }),
  ),
  search: Type.Optional(
    Type.String({ maxLength: MAX_SEARCH, description: 'A part of the name, email or phone of the contact.' }),
  ),
})
type ConversationQuery = Static<typeof ConversationQuery>

/** Finds the contacts that a search matches; undefined when it holds nothing to search for. */
export type MatchContacts = (db: Db, companyId: number, search: string) => Promise<MatchedContacts | undefined>

/**
 * One page of the list, newest activity first. With a filter nothing is counted: a page says whether another follows.
 * @throws {AppError} 422 for an unknown cursor, and with a filter for a page beyond its 10,000th record
 */
export async function readConversationPage(
  db: Db,
  companyId: number,
  query: ConversationQuery,
  matchContacts: MatchContacts,
) {
  const page = parsePage(query, PAGES)
  const cursor = readCursor(query)
  const filter = await toFilter(db, companyId, query, matchContacts)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  if (cursor !== undefined) {
    const rows = await listFrom(db, companyId, cursor, page.pageSize, filter)
    if (isFiltered) return { rows, pagination: withoutPages(toUncountedPagination(1, false)) }
    const total = await readConversationTotal(db, companyId)
    return { rows, pagination: withoutPages(toPagination(total, 1, page.pageSize)) }
  }
  if (isFiltered) return readFiltered(db, companyId, filter, page)
  const total = await readConversationTotal(db, companyId)
  const rows = await listConversations(db, companyId, { offset: page.offset, limit: page.pageSize, total })
  return { rows, pagination: toPagination(total, page.page, page.pageSize) }
}

async function toFilter(
  db: Db,
  companyId: number,
  { status, unread, channelId, assignee, search }: ConversationQuery,
  matchContacts: MatchContacts,
): Promise<ConversationFilter> {
  const contacts = search === undefined ? undefined : await matchContacts(db, companyId, search)
  return { status, isUnread: unread || undefined, senderId: channelId, assignee, contacts }
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
  // One more than asked for tells whether another page follows.
  const rows = await listFiltered(db, companyId, filter, { offset, limit: pageSize + 1 })
  const hasNext = rows.length > pageSize && offset + pageSize < MAX_FILTERED_OFFSET
  return { rows: rows.slice(0, pageSize), pagination: toUncountedPagination(page, hasNext) }
}

async function listFrom(
  db: Db,
  companyId: number,
  cursor: Cursor,
  pageSize: number,
  filter: ConversationFilter,
): Promise<Conversation[]> {
  const rows = await listConversationsFrom(db, companyId, cursor, pageSize, filter)
  if (rows.length === 0 && (await findConversation(db, companyId, cursor.id)) === undefined) {
    throw unknownCursor(cursor.side)
  }
  return rows
}
