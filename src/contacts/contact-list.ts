import type { Db } from '../db/connect.ts'
import {
  COUNTED_MATCHES,
  countMatches,
  type PageRequest,
  readContactCount,
  readContactPage,
  type SortColumn,
} from './contact-list-store.ts'
import type { Contact } from './contact-record.ts'
import { searchTerms } from './contact-search.ts'

export const CONTACT_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'email', '-email'] as const
export type ContactSort = (typeof CONTACT_SORTS)[number]

export type ContactListRequest = {
  /** From 1. */
  readonly page: number
  readonly limit: number
  readonly search: string
  readonly sort: ContactSort
  /** Contacts that come before or after this id in the value that is sorted by, nearest first, instead of a page. */
  readonly cursor?: PageRequest['cursor']
}

export type ContactPage = {
  readonly contacts: readonly Contact[]
  readonly total: number
  /** False when a search has more matches than are counted: `total` is then the most that are. */
  readonly totalIsExact: boolean
  readonly hasNext: boolean
  readonly hasPrevious: boolean
}

/** One page of the company's living contacts. A cursor costs the same at any depth; the total is never counted out. */
export async function listContacts(db: Db, companyId: number, request: ContactListRequest): Promise<ContactPage> {
  const terms = searchTerms(companyId, request.search)
  const found = terms.length === 0 ? await readContactCount(db, companyId) : await countMatches(db, companyId, terms)
  const isRare = terms.length > 0 && found <= COUNTED_MATCHES && terms.every((term) => term.grams.length > 0)
  const totalIsExact = terms.length === 0 || found <= COUNTED_MATCHES
  const page = toPageRequest(request, terms, isRare)
  const isPastEnd = totalIsExact && page.offset >= found && request.cursor === undefined
  const rows = isPastEnd ? [] : await readContactPage(db, companyId, page)
  return { total: totalIsExact ? found : COUNTED_MATCHES, totalIsExact, ...cut(request, rows, found) }
}

/** One contact more than asked for is read, to know whether there is another page. */
function toPageRequest(request: ContactListRequest, terms: PageRequest['terms'], isRare: boolean): PageRequest {
  const { column, descending } = parseSort(request.sort)
  const { cursor, limit } = request
  return {
    terms,
    isRare,
    column,
    descending: cursor === undefined ? descending : cursor.side === 'before',
    cursor,
    offset: cursor === undefined ? (request.page - 1) * limit : 0,
    limit: limit + 1,
  }
}

function parseSort(sort: ContactSort): { column: SortColumn; descending: boolean } {
  switch (sort) {
    case 'created_at':
    case '-created_at':
      return { column: 'created_at', descending: sort.startsWith('-') }
    case 'updated_at':
    case '-updated_at':
      return { column: 'updated_at', descending: sort.startsWith('-') }
    case 'email':
    case '-email':
      return { column: 'email', descending: sort.startsWith('-') }
  }
}

function cut(request: ContactListRequest, rows: readonly Contact[], found: number) {
  const contacts = rows.slice(0, request.limit)
  const isMore = rows.length > request.limit
  const { cursor } = request
  if (cursor === undefined) return { contacts, hasNext: isMore, hasPrevious: request.page > 1 && found > 0 }
  // Read away from the cursor: turned round when that is against the order of the sort.
  const isForward = (cursor.side === 'before') === parseSort(request.sort).descending
  return isForward
    ? { contacts, hasNext: isMore, hasPrevious: true }
    : { contacts: contacts.toReversed(), hasNext: true, hasPrevious: isMore }
}
