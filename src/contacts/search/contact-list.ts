import type { Db } from '../../db/connect.ts'
import { encodeCursor } from '../../http/paging/cursor.ts'
import { findHidden, type HiddenMatches } from '../../http/paging/hidden-matches.ts'
import type { Contact } from '../../people/contact-record.ts'
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
  selectMatches,
} from './contact-list-store.ts'
import { type ContactFilter, isIndexed, type SortColumn, searchTerms } from './contact-query.ts'

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
    nextCursor: around.hasNext && next ? encodeCursor(column, next) : null,
    previousCursor: around.hasPrevious && previous ? encodeCursor(column, previous) : null,
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
async function countContacts(db: Db, companyId: number, requested: ContactConditions): Promise<Found> {
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

/** Counts matches hidden by filters, if a filtered search finds nothing. */
export async function findHiddenContacts(
  db: Db,
  companyId: number,
  { search, filter = {}, cursor }: ContactListRequest,
  page: ContactPage,
): Promise<HiddenMatches | null> {
  const terms = searchTerms(search)
  const isNone = page.total === 0 && page.nextCursor === null && cursor === undefined
  if (!isNone || terms.length === 0) return null
  const present = Object.entries(filter).filter(([, value]) => value !== undefined)
  if (present.length === 0) return null
  return findHidden(
    present.map(([name]) => name),
    (kept) => {
      const others: ContactFilter = Object.fromEntries(present.filter(([name]) => kept.includes(name)))
      return countContacts(db, companyId, { terms, filter: others })
    },
  )
}

const CHANGES_AT_ONCE = 10_000

export async function readContactCount(db: Db, companyId: number): Promise<number> {
  const [row] = await db<{ living: number }[]>`
    select
      coalesce((select living from contact_counts where company_id = ${companyId}), 0)
      + coalesce((select sum(change) from contact_changes where company_id = ${companyId}), 0)
      as living
  `
  return Number(row?.living ?? 0)
}

/** Adds up to 10,000 changes to the counts, skipping rows locked by other processes. */
export async function addUpChanges(db: Db): Promise<void> {
  await db`
    with taken as (
      delete from contact_changes
      where (company_id, id) in (
        select company_id, id
        from contact_changes
        order by company_id, id
        limit ${CHANGES_AT_ONCE}
        for update skip locked
      )
      returning company_id, change
    )
    insert into contact_counts as counts (company_id, living)
    select company_id, sum(change)
    from taken
    group by company_id
    order by company_id
    on conflict (company_id) do update set living = counts.living + excluded.living
  `
}

/** Above this, callers scan their own records instead. */
const FEW = 1_000

/** `matches` is null if there are too many. `starts`: a word starts with the search. */
type ContactMatches = {
  readonly texts: readonly string[]
  readonly matches: readonly { readonly id: number; readonly starts: boolean }[] | null
}

/** Resolves a search for lists of contact-related records; undefined if there is nothing to search for. */
export async function matchContacts(db: Db, companyId: number, search: string): Promise<ContactMatches | undefined> {
  const terms = searchTerms(search)
  if (terms.length === 0) return undefined
  const texts = terms.map(({ text }) => text)
  if (!isIndexed(terms)) return { texts, matches: null }
  const { areMany, rare } = await sampleMatches(db, companyId, { terms, filter: {} })
  if (areMany) return { texts, matches: null }
  const { matches, areAll } = await selectMatches(db, companyId, rare)
  return { texts, matches: areAll && matches.length <= FEW ? matches : null }
}
