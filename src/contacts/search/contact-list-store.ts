import type { Db } from '../../db/connect.ts'
import type { ShownContact } from '../contact-record.ts'
import { emailPlace, shownColumns } from '../contact-store.ts'
import type { ContactPosition, SortColumn } from './contact-cursor.ts'
import type { SearchTerm } from './contact-search.ts'

/** Contacts that one request looks at for a search, at most. */
export const EXAMINED = 10_000
/** How many of the newest contacts are sampled to see whether many match. */
const SAMPLE = 2_000

/**
 * How the matches of a search are found: `index` reads contacts that hold all trigrams of a term, `walk` reads the list from
 * the page's beginning on. Both end after `EXAMINED` contacts.
 */
export type SearchMethod = 'index' | 'walk'

export type PageRequest = {
  readonly terms: readonly SearchTerm[]
  readonly method: SearchMethod
  readonly column: SortColumn
  readonly descending: boolean
  /** Contacts on one side of this place, nearest first. */
  readonly cursor: { readonly side: 'before' | 'after'; readonly place: ContactPosition } | undefined
  readonly offset: number
  readonly limit: number
}

export type ListedContact = ShownContact & { readonly place: number | string }

/** Contacts in the order of the sort. The page is found in the index alone; only its rows are read. */
export async function readContactPage(db: Db, companyId: number, page: PageRequest): Promise<ListedContact[]> {
  const order = page.descending ? db`desc` : db`asc`
  const place = sortPlace(db, page.column)
  return db<ListedContact[]>`
    select ${shownColumns(db, companyId)}, ${placeValue(db, page.column)} as place
    from (
      select contacts.id
      from ${searched(db, companyId, page)} as contacts
      where ${matching(db, page.terms)}
      order by ${place} ${order}, contacts.id ${order}
      limit ${page.limit}
      offset ${page.offset}
    ) as page
    join contacts on (contacts.company_id, contacts.id) = (${companyId}, page.id)
    order by ${place} ${order}, contacts.id ${order}
  `
}

/** The place of the last contact that a walk from the same beginning looks at, if it does not reach the list's end. */
export async function findWalkEnd(db: Db, companyId: number, page: PageRequest): Promise<ContactPosition | undefined> {
  const order = page.descending ? db`desc` : db`asc`
  const [end] = await db<ContactPosition[]>`
    select ${placeValue(db, page.column)} as value, contacts.id
    from contacts
    where ${living(db, companyId)} ${beyond(db, page)}
    order by ${sortPlace(db, page.column)} ${order}, contacts.id ${order}
    limit 1
    offset ${EXAMINED - 1}
  `
  return end
}

const living = (db: Db, companyId: number) => db`contacts.company_id = ${companyId} and contacts.deleted_at is null`

const sortPlace = (db: Db, column: SortColumn) => {
  if (column === 'email') return emailPlace(db)
  return column === 'created_at' ? db`contacts.created_at` : db`contacts.updated_at`
}

const placeValue = (db: Db, column: SortColumn) =>
  column === 'email' ? emailPlace(db) : db`(extract(epoch from ${sortPlace(db, column)}) * 1000000)::bigint`

function beyond(db: Db, { column, cursor }: Pick<PageRequest, 'column' | 'cursor'>) {
  if (cursor === undefined) return db``
  const { value, id } = cursor.place
  const at =
    typeof value === 'string' ? db`${value}` : db`timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`
  const place = sortPlace(db, column)
  return cursor.side === 'before'
    ? db`and (${place}, contacts.id) < (${at}, ${id})`
    : db`and (${place}, contacts.id) > (${at}, ${id})`
}

/** The contacts among which a page is found. */
function searched(db: Db, companyId: number, page: Omit<PageRequest, 'limit' | 'offset'>) {
  const here = db`${living(db, companyId)} ${beyond(db, page)}`
  if (page.terms.length === 0) return db`(select * from contacts where ${here})`
  if (page.method === 'index')
    return db`(select * from contacts where ${here} and ${holding(db, page.terms)} limit ${EXAMINED})`
  const order = page.descending ? db`desc` : db`asc`
  return db`(
    select * from contacts where ${here} order by ${sortPlace(db, page.column)} ${order}, id ${order} limit ${EXAMINED}
  )`
}

function matching(db: Db, terms: readonly SearchTerm[]) {
  const [first, second] = terms.map(({ text }) => db`strpos(contacts.search_text, ${text}) > 0`)
  if (first === undefined) return db`true`
  return second === undefined ? first : db`(${first} or ${second})`
}

/** The contacts that the index finds: those that contain all trigrams of one of the terms, in any order. */
function holding(db: Db, terms: readonly SearchTerm[]) {
  const all = ({ trigrams }: SearchTerm) =>
    trigrams
      .map((trigram) => db`contacts.search_text like ${`%${trigram}%`}`)
      .reduce((before, next) => db`${before} and ${next}`)
  const [first, second] = terms.map(all)
  if (first === undefined) return db`true`
  return second === undefined ? first : db`((${first}) or (${second}))`
}

/** The ids of contacts that the index finds for a search and that match it, in no order; whether all were looked at. */
export async function selectMatchingIds(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
): Promise<{ ids: number[]; areAll: boolean }> {
  const from = searched(db, companyId, {
    terms,
    method: 'index',
    column: 'created_at',
    descending: true,
    cursor: undefined,
  })
  const [row] = await db<{ examined: number; ids: number[] }[]>`
    select count(*) as examined, coalesce(array_agg(contacts.id) filter (where ${matching(db, terms)}), '{}') as ids
    from ${from} as contacts
  `
  const { examined, ids } = row ?? { examined: 0, ids: [] }
  return { ids, areAll: examined < EXAMINED }
}

/** Of the newest contacts: how many match, and how many the index would find for it. */
export async function sampleMatches(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
  isIndexed: boolean,
): Promise<{ matches: number; areAll: boolean; areMany: boolean }> {
  const [row] = await db<{ looked: number; matches: number; held: number }[]>`
    select
      count(*) as looked,
      count(*) filter (where ${matching(db, terms)}) as matches,
      count(*) filter (where ${isIndexed ? holding(db, terms) : db`true`}) as held
    from (
      select contacts.search_text
      from contacts
      where ${living(db, companyId)}
      order by contacts.created_at desc, contacts.id desc
      limit ${SAMPLE}
    ) as contacts
  `
  const { looked, matches, held } = row ?? { looked: 0, matches: 0, held: 0 }
  return { matches, areAll: looked < SAMPLE, areMany: held > SAMPLE / 10 }
}

/** How many contacts match, and whether all that can match were looked at: at most `EXAMINED`, the newest by a walk. */
export async function countMatches(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
  method: SearchMethod,
): Promise<{ matches: number; isExact: boolean }> {
  const from = searched(db, companyId, { terms, method, column: 'created_at', descending: true, cursor: undefined })
  const [row] = await db<{ examined: number; matches: number }[]>`
    select count(*) as examined, count(*) filter (where ${matching(db, terms)}) as matches
    from ${from} as contacts
  `
  const { examined, matches } = row ?? { examined: 0, matches: 0 }
  return { matches, isExact: examined < EXAMINED }
}
