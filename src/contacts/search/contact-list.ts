import type { Db } from '../../db/connect.ts'
import type { Contact } from '../../people/contact-record.ts'
import { readContactCount } from './contact-count-store.ts'
import { type SortColumn, toContactCursor } from './contact-cursor.ts'
import type { ContactFilter } from './contact-filter.ts'
import {
  type ContactConditions,
  countMatches,
  findWalkEnd,
  hasIndex,
  isUnconditional,
  type ListedContact,
  type PageRequest,
  readContactPage,
  type SearchMethod,
  sampleMatches,
} from './contact-list-store.ts'
import { searchTerms } from './search-terms.ts'

export const CONTACT_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'email', '-email'] as const
type ContactSort = (typeof CONTACT_SORTS)[number]

export type ContactListRequest = {
  readonly page: number
  readonly limit: number
  readonly search: string
  readonly filter?: ContactFilter
  readonly sort: ContactSort
  readonly isRanked?: boolean
  readonly cursor?: PageRequest['cursor']
}

export type ContactPage = {
  readonly contacts: readonly Contact[]
  readonly total: number
  /** False if not all contacts were examined; `total` is then a minimum. */
  readonly totalIsExact: boolean
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  readonly nextCursor: string | null
  readonly previousCursor: string | null
}

/**
 * Returns a page of living contacts. Cursors cost the same at any depth. A search or filter examines at most 10,000
 * contacts, so a page may be short; the next cursor continues after them.
 */
export async function listContacts(db: Db, companyId: number, asked: ContactListRequest): Promise<ContactPage> {
  const requested = { terms: searchTerms(asked.search), filter: asked.filter ?? {} }
  const found = await countContacts(db, companyId, requested)
  const { conditions } = found
  const request = inOneOrder(asked, found)
  const { isRanked = false } = request
  const range = toRange(request, found)
  // With newest first, the count covers the page.
  const isCounted = found.isExact || request.sort === '-created_at'
  const isPastEnd = isCounted && request.cursor === undefined && range.skipped >= found.total
  const { column } = parseSort(request.sort)
  const page = { ...range, ...conditions, column, isRanked, method: found.method, cursor: request.cursor }
  const rows = isPastEnd ? [] : await readContactPage(db, companyId, page)
  const mayGoOn =
    !isUnconditional(conditions) && found.method === 'walk' && !found.isExact && rows.length <= request.limit
  const end = mayGoOn ? await findWalkEnd(db, companyId, page) : undefined
  const { contacts, ...around } = toPage(request, rows, range.isReversed, found, end !== undefined)
  const [first, last] = [contacts.at(0), contacts.at(-1)].map(
    (one) => one && { value: one.place, id: one.id, ...(one.starts !== null && { starts: one.starts }) },
  )
  const [previous, next] = range.isReversed ? [end ?? first, last] : [first, end ?? last]
  return {
    total: found.total,
    totalIsExact: found.isExact,
    contacts,
    ...around,
    nextCursor: around.hasNext && next ? toContactCursor(column, next) : null,
    previousCursor: around.hasPrevious && previous ? toContactCursor(column, previous) : null,
  }
}

/** Ranks only if all matches are counted. A cursor keeps its order if possible, and must never skip contacts. */
function inOneOrder(request: ContactListRequest, { isExact, conditions }: Found): ContactListRequest {
  const { cursor, ...others } = request
  const isRankable = isExact && conditions.terms.length > 0
  if (cursor === undefined) return { ...others, isRanked: isRankable && request.isRanked === true }
  const { starts, ...place } = cursor.place
  if (starts === undefined || isRankable) return { ...request, isRanked: starts !== undefined }
  return { ...others, ...(!starts && { cursor: { ...cursor, place } }), isRanked: false }
}

type Found = {
  readonly total: number
  readonly isExact: boolean
  readonly method: SearchMethod
  readonly conditions: ContactConditions
}

/** Counts matches up to a limit, and chooses the index for few matches, a walk for many. */
export async function countContacts(db: Db, companyId: number, requested: ContactConditions): Promise<Found> {
  if (isUnconditional(requested)) {
    return { total: await readContactCount(db, companyId), isExact: true, method: 'walk', conditions: requested }
  }
  const { matches, areAll, areMany, rare } = await sampleMatches(db, companyId, requested)
  const conditions = { ...requested, terms: rare }
  if (areAll) return { total: matches, isExact: true, method: 'walk', conditions }
  const method = hasIndex(conditions) && !areMany ? 'index' : 'walk'
  const counted = await countMatches(db, companyId, conditions, method)
  return {
    total: counted.matches,
    isExact: counted.isExact,
    method: counted.isExact ? method : 'walk',
    conditions,
  }
}

/** Reads one extra row to detect a next page, and the far half of an exact list in reverse. */
function toRange(request: ContactListRequest, { total, isExact }: Found) {
  const { descending } = parseSort(request.sort)
  const { cursor, limit } = request
  if (cursor !== undefined) {
    const isDown = cursor.side === 'before'
    return { skipped: 0, offset: 0, limit: limit + 1, descending: isDown, isReversed: isDown !== descending }
  }
  const skipped = (request.page - 1) * limit
  const left = Math.max(0, total - skipped - limit)
  const isFar = isExact && skipped > left
  return {
    skipped,
    offset: isFar ? left : skipped,
    limit: isFar ? Math.max(0, Math.min(limit, total - skipped)) : limit + 1,
    descending: isFar ? !descending : descending,
    isReversed: isFar,
  }
}

export function parseSort(sort: ContactSort): { column: SortColumn; descending: boolean } {
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

function toPage(
  request: ContactListRequest,
  rows: readonly ListedContact[],
  isReversed: boolean,
  { total }: Found,
  hasMore: boolean,
) {
  const { cursor, limit } = request
  const isMore = hasMore || rows.length > limit
  const contacts = isReversed ? rows.slice(0, limit).toReversed() : rows.slice(0, limit)
  if (cursor === undefined) {
    // The total may be older than the rows; the far half has no extra row.
    const hasNext = isReversed ? request.page * limit < total : isMore
    return { contacts, hasNext, hasPrevious: request.page > 1 && total > 0 }
  }
  const isAny = contacts.length > 0
  return isReversed
    ? { contacts, hasNext: isAny, hasPrevious: isMore }
    : { contacts, hasNext: isMore, hasPrevious: isAny }
}
