import type { Db } from '../db/connect.ts'
import {
  COUNTED_MATCHES,
  countMatches,
  type PageRequest,
  readContactCount,
  readContactPage,
  type SortColumn,
  surveyMatches,
} from './contact-list-store.ts'
import type { Contact } from './contact-record.ts'
import { type SearchTerm, searchTerms } from './contact-search.ts'

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
  const terms = searchTerms(request.search)
  const found = await count(db, companyId, terms)
  const stretch = toStretch(request, found)
  const isPastEnd = found.isExact && request.cursor === undefined && stretch.skipped >= found.total
  const { column } = parseSort(request.sort)
  const page = { ...stretch, terms, column, byIndex: found.byIndex, cursor: request.cursor }
  const rows = isPastEnd ? [] : await readContactPage(db, companyId, page)
  return { total: found.total, totalIsExact: found.isExact, ...cut(request, rows, stretch.isTurned, found) }
}

type Found = { readonly total: number; readonly isExact: boolean; readonly byIndex: boolean }

/** How many match, up to a limit; and how they are best found: few by the index, many by looking through the list. */
async function count(db: Db, companyId: number, terms: readonly SearchTerm[]): Promise<Found> {
  if (terms.length === 0) return { total: await readContactCount(db, companyId), isExact: true, byIndex: false }
  const { matches, areAll, areMany } = await surveyMatches(db, companyId, terms)
  if (areAll) return { total: matches, isExact: true, byIndex: false }
  const counted = await countMatches(db, companyId, terms, !areMany)
  const isExact = counted <= COUNTED_MATCHES
  return { total: Math.min(counted, COUNTED_MATCHES), isExact, byIndex: isExact && !areMany }
}

/**
 * Where to read. One contact more than asked for tells whether there is another page. The far half of a list of known
 * length is read from its end: turned round.
 */
function toStretch(request: ContactListRequest, { total, isExact }: Found) {
  const { descending } = parseSort(request.sort)
  const { cursor, limit } = request
  if (cursor !== undefined) {
    const isDown = cursor.side === 'before'
    return { skipped: 0, offset: 0, limit: limit + 1, descending: isDown, isTurned: isDown !== descending }
  }
  const skipped = (request.page - 1) * limit
  const left = Math.max(0, total - skipped - limit)
  const isFar = isExact && skipped > left
  return {
    skipped,
    offset: isFar ? left : skipped,
    limit: isFar ? Math.max(0, Math.min(limit, total - skipped)) : limit + 1,
    descending: isFar ? !descending : descending,
    isTurned: isFar,
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

function cut(request: ContactListRequest, rows: readonly Contact[], isTurned: boolean, { total, isExact }: Found) {
  const { cursor, limit } = request
  const isMore = rows.length > limit
  const contacts = isTurned ? rows.slice(0, limit).toReversed() : rows.slice(0, limit)
  if (cursor === undefined) {
    const hasNext = isExact ? request.page * limit < total : isMore
    return { contacts, hasNext, hasPrevious: request.page > 1 && total > 0 }
  }
  return isTurned ? { contacts, hasNext: true, hasPrevious: isMore } : { contacts, hasNext: isMore, hasPrevious: true }
}
