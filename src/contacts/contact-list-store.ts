import type { Db } from '../db/connect.ts'
import type { Contact } from './contact-record.ts'
import { type SearchTerm, toIndexQuery } from './contact-search.ts'
import { contactColumns, emailPlace } from './contact-store.ts'

/** How many matches of a search are counted; with more, the total is not exact. */
export const COUNTED_MATCHES = 10_000

/** How many of the newest contacts tell whether many match. */
const SURVEYED = 2_000

export type SortColumn = 'created_at' | 'updated_at' | 'email'

export type PageRequest = {
  readonly terms: readonly SearchTerm[]
  /** Whether the index finds the matches; otherwise contacts are looked through in the order of the sort. */
  readonly byIndex: boolean
  readonly column: SortColumn
  readonly descending: boolean
  /** Contacts on one side of this one, nearest first; its place is looked up even when it has been deleted. */
  readonly cursor: { readonly side: 'before' | 'after'; readonly id: number } | undefined
  readonly offset: number
  readonly limit: number
}

/**
 * Contacts in the order of the sort; a cursor against that order reads backwards, so nearest first. The page is found in
 * the index alone; only its rows are read.
 */
export async function readContactPage(db: Db, companyId: number, page: PageRequest): Promise<Contact[]> {
  const order = page.descending ? db`desc` : db`asc`
  const place = sortPlace(db, page.column)
  const inTurn = page.cursor === undefined ? db`` : db`and ${beyond(db, companyId, place, page.cursor)}`
  return db<Contact[]>`
    select ${contactColumns(db)}
    from (
      select contacts.id
      from ${page.byIndex ? db`(${foundByIndex(db, companyId, page.terms)}) as contacts` : db`contacts`}
      where ${living(db, companyId)} and ${matching(db, page.terms)} ${inTurn}
      order by ${place} ${order}, contacts.id ${order}
      limit ${page.limit}
      offset ${page.offset}
    ) as page
    join contacts on (contacts.company_id, contacts.id) = (${companyId}, page.id)
    order by ${place} ${order}, contacts.id ${order}
  `
}

const living = (db: Db, companyId: number) => db`contacts.company_id = ${companyId} and contacts.deleted_at is null`

const sortPlace = (db: Db, column: SortColumn) => {
  if (column === 'email') return emailPlace(db)
  return column === 'created_at' ? db`contacts.created_at` : db`contacts.updated_at`
}

function beyond(
  db: Db,
  companyId: number,
  place: ReturnType<typeof sortPlace>,
  cursor: NonNullable<PageRequest['cursor']>,
) {
  const at = db`(select ${place} from contacts where (company_id, id) = (${companyId}, ${cursor.id}))`
  return cursor.side === 'before'
    ? db`(${place}, contacts.id) < (${at}, ${cursor.id})`
    : db`(${place}, contacts.id) > (${at}, ${cursor.id})`
}

function matching(db: Db, terms: readonly SearchTerm[]) {
  const [first, second] = terms.map((term) => db`strpos(contacts.search_text, ${term.text}) > 0`)
  if (first === undefined) return db`true`
  return second === undefined ? first : db`(${first} or ${second})`
}

/** What the index finds, and what it does not know yet; whether it matches is still to be seen. */
const foundByIndex = (db: Db, companyId: number, terms: readonly SearchTerm[]) => db`
  select contacts.*
  from (
    select contact_id
    from contact_words
    where contact_grams(contact_words.company_id, contact_words.words) @@ ${toIndexQuery(companyId, terms)}::tsquery
    union
    select unnest(contact_ids)
    from contact_changes
    where company_id = ${companyId}
  ) as found
  cross join lateral (
    select *
    from contacts
    where (contacts.company_id, contacts.id) = (${companyId}, found.contact_id)
    limit 1
  ) as contacts
`

/** Of the newest contacts, how many there are up to a limit, and how many of them match. */
export async function surveyMatches(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
): Promise<{ matches: number; areAll: boolean; areMany: boolean }> {
  const [row] = await db<{ looked: number; matches: number }[]>`
    select count(*) as looked, count(*) filter (where ${matching(db, terms)}) as matches
    from (
      select contacts.search_text
      from contacts
      where ${living(db, companyId)}
      order by contacts.created_at desc, contacts.id desc
      limit ${SURVEYED}
    ) as contacts
  `
  const { looked, matches } = row ?? { looked: 0, matches: 0 }
  return { matches, areAll: looked < SURVEYED, areMany: matches > SURVEYED / 10 }
}

/**
 * How many living contacts match; stops counting one past `COUNTED_MATCHES`. Without the index of the words they are
 * looked through from the newest on, as everywhere: the table itself holds all companies.
 */
export async function countMatches(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
  byIndex: boolean,
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)
    from (
      select
      from ${byIndex ? db`(${foundByIndex(db, companyId, terms)}) as contacts` : db`contacts`}
      where ${living(db, companyId)} and ${matching(db, terms)}
      ${byIndex ? db`` : db`order by contacts.created_at desc, contacts.id desc`}
      limit ${COUNTED_MATCHES + 1}
    ) as matches
  `
  return row?.count ?? 0
}

/** How many living contacts the company has, without counting them. */
export async function readContactCount(db: Db, companyId: number): Promise<number> {
  const [row] = await db<{ living: number }[]>`
    select
      coalesce((select living from contact_counts where company_id = ${companyId}), 0)
      + coalesce((select sum(change) from contact_changes where company_id = ${companyId}), 0)
      as living
  `
  return Number(row?.living ?? 0)
}
