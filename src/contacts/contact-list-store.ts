import type { Db } from '../db/connect.ts'
import type { Contact } from './contact-record.ts'
import type { SearchTerm } from './contact-search.ts'
import { contactColumns } from './contact-store.ts'

/** How many matches of a search are counted; with more, the total is not exact. */
export const COUNTED_MATCHES = 10_000

/** Rows of the count's ledger that a reader folds away once there are so many. */
const CHANGES_KEPT = 1_000

export type SortColumn = 'created_at' | 'updated_at' | 'email'

export type PageRequest = {
  readonly terms: readonly SearchTerm[]
  /** Whether the index finds the matches; otherwise the page is looked for in the order of the sort. */
  readonly isRare: boolean
  readonly column: SortColumn
  readonly descending: boolean
  /** Contacts on one side of this one, nearest first; its place is looked up even when it has been deleted. */
  readonly cursor: { readonly side: 'before' | 'after'; readonly id: number } | undefined
  readonly offset: number
  readonly limit: number
}

/** Contacts in the order of the sort; a cursor against that order reads backwards, so nearest first. */
export async function readContactPage(db: Db, companyId: number, page: PageRequest): Promise<Contact[]> {
  const order = page.descending ? db`desc` : db`asc`
  const place = sortPlace(db, page.column)
  const inTurn = page.cursor === undefined ? db`` : db`and ${beyond(db, companyId, place, page.cursor)}`
  // Few matches: the index on the runs finds them all, and they are sorted. Many: the page is near in sort order.
  const source = page.isRare
    ? db`(select * from contacts where ${matching(db, companyId, page.terms, true)} offset 0)`
    : db`contacts`
  return db<Contact[]>`
    select ${contactColumns(db)}
    from ${source} as contacts
    where ${matching(db, companyId, page.isRare ? [] : page.terms, false)}
    ${inTurn}
    order by ${place} ${order}, contacts.id ${order}
    limit ${page.limit}
    offset ${page.offset}
  `
}

const sortPlace = (db: Db, column: SortColumn) => {
  if (column === 'email') return db`coalesce(contacts.email_key, chr(1114111)) collate "C"`
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

function matching(db: Db, companyId: number, terms: readonly SearchTerm[], byIndex: boolean) {
  const living = db`contacts.company_id = ${companyId} and contacts.deleted_at is null`
  const [first, second] = terms.map((term) =>
    byIndex && term.grams.length > 0
      ? db`(
          strpos(contacts.search_text, ${term.text}) > 0
          and contact_grams(contacts.company_id, contacts.search_text) @> ${[...term.grams]}::text[]
        )`
      : db`strpos(contacts.search_text, ${term.text}) > 0`,
  )
  if (first === undefined) return living
  return second === undefined ? db`${living} and ${first}` : db`${living} and (${first} or ${second})`
}

/** How many living contacts match; stops counting one past `COUNTED_MATCHES`. */
export async function countMatches(db: Db, companyId: number, terms: readonly SearchTerm[]): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)
    from (
      select
      from contacts
      where ${matching(db, companyId, terms, true)}
      limit ${COUNTED_MATCHES + 1}
    ) as matches
  `
  return row?.count ?? 0
}

/** How many living contacts the company has, without counting them. */
export async function readContactCount(db: Db, companyId: number): Promise<number> {
  const [row] = await db<{ living: number; changes: number }[]>`
    select
      coalesce((select living from contact_counts where company_id = ${companyId}), 0) + coalesce(sum(change), 0)
        as living,
      count(*) as changes
    from contact_count_changes
    where company_id = ${companyId}
  `
  if (row !== undefined && row.changes > CHANGES_KEPT) await foldContactCount(db, companyId)
  return Number(row?.living ?? 0)
}

/** Folds changes into the number; what another reader is folding just now is left to it. */
export async function foldContactCount(db: Db, companyId: number): Promise<void> {
  await db`
    with folded as (
      delete from contact_count_changes
      where (company_id, id) in (
        select company_id, id
        from contact_count_changes
        where company_id = ${companyId}
        order by id
        limit 10000
        for update skip locked
      )
      returning change
    )
    insert into contact_counts as counts (company_id, living)
    select ${companyId}, sum(change)
    from folded
    having count(*) > 0
    on conflict (company_id) do update set living = counts.living + excluded.living
  `
}
