import { type Db, sql } from '../../db/connect.ts'
import { startsWord } from '../../db/word-start.ts'
import type { ShownContact } from '../../people/contact-record.ts'
import { emailPlace, shownColumns } from '../../people/contact-store.ts'
import {
  type ContactFilter,
  type ContactPosition,
  fieldValues,
  isFilterIndexed,
  isIndexed,
  type SearchTerm,
  type SortColumn,
} from './contact-query.ts'

export const EXAMINED = 10_000
/** Newest contacts sampled for match frequency and common trigrams. */
const SAMPLE = 2_000
const TRIGRAM_SAMPLE = 200

export type ContactConditions = { readonly terms: readonly SearchTerm[]; readonly filter: ContactFilter }

export const isUnconditional = ({ terms, filter }: ContactConditions): boolean =>
  terms.length === 0 && Object.keys(filter).length === 0

/** Returns whether an index can find candidates. */
export const hasIndex = ({ terms, filter }: ContactConditions): boolean =>
  (terms.length > 0 && isIndexed(terms)) || isFilterIndexed(filter)

/** `index` reads contacts with all trigrams; `walk` scans in sort order. Both stop after `EXAMINED` contacts. */
export type SearchMethod = 'index' | 'walk'

export type PageRequest = ContactConditions & {
  readonly method: SearchMethod
  readonly column: SortColumn
  readonly descending: boolean
  readonly isRanked: boolean
  readonly cursor: { readonly side: 'before' | 'after'; readonly place: ContactPosition } | undefined
  readonly offset: number
  readonly limit: number
}

export type ListedContact = ShownContact & { readonly place: number | string; readonly starts: boolean | null }

/** Returns a sorted page: finds ids in the index, then reads only their rows. */
export async function readContactPage(db: Db, companyId: number, page: PageRequest): Promise<ListedContact[]> {
  const order = page.descending ? sql`desc` : sql`asc`
  const place = sortPlace(page.column)
  const starts = page.isRanked ? starting(page.terms) : sql`null::boolean`
  const rank = page.isRanked ? sql`${starts} ${order},` : sql``
  return db<ListedContact[]>`
    select ${shownColumns(companyId)}, ${placeValue(page.column)} as place, ${starts} as starts
    from (
      select contacts.id
      from ${searched(db, companyId, page)} as contacts
      where ${matching(db, page)} ${page.isRanked ? beyond(page) : sql``}
      order by ${rank} ${place} ${order}, contacts.id ${order}
      limit ${page.limit}
      offset ${page.offset}
    ) as page
    join contacts on (contacts.company_id, contacts.id) = (${companyId}, page.id)
    order by ${rank} ${place} ${order}, contacts.id ${order}
  `
}

/** Returns the last position a walk examines, unless the list ends before. */
export async function findWalkEnd(db: Db, companyId: number, page: PageRequest): Promise<ContactPosition | undefined> {
  const order = page.descending ? sql`desc` : sql`asc`
  const [end] = await db<ContactPosition[]>`
    select ${placeValue(page.column)} as value, contacts.id
    from contacts
    where ${living(companyId)} ${beyond(page)}
    order by ${sortPlace(page.column)} ${order}, contacts.id ${order}
    limit 1
    offset ${EXAMINED - 1}
  `
  return end
}

const living = (companyId: number) => sql`contacts.company_id = ${companyId} and contacts.deleted_at is null`

const sortPlace = (column: SortColumn) => {
  if (column === 'email') return emailPlace
  return column === 'created_at' ? sql`contacts.created_at` : sql`contacts.updated_at`
}

const placeValue = (column: SortColumn) =>
  column === 'email' ? emailPlace : sql`(extract(epoch from ${sortPlace(column)}) * 1000000)::bigint`

function beyond({ column, cursor, terms }: Pick<PageRequest, 'column' | 'cursor' | 'terms'>) {
  if (cursor === undefined) return sql``
  const { value, id, starts } = cursor.place
  const at =
    typeof value === 'string' ? sql`${value}` : sql`timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`
  const place = starts === undefined ? sortPlace(column) : sql`${starting(terms)}, ${sortPlace(column)}`
  const here = starts === undefined ? at : sql`${starts}::boolean, ${at}`
  return cursor.side === 'before'
    ? sql`and (${place}, contacts.id) < (${here}, ${id})`
    : sql`and (${place}, contacts.id) > (${here}, ${id})`
}

const starting = (terms: readonly SearchTerm[]) =>
  terms
    .map(({ text }) => startsWord(sql`contacts.search_text`, text))
    .reduce((before, next) => sql`(${before} or ${next})`)

function searched(db: Db, companyId: number, page: Omit<PageRequest, 'limit' | 'offset'>) {
  const here = sql`${living(companyId)} ${page.isRanked ? sql`` : beyond(page)}`
  if (isUnconditional(page)) return sql`(select * from contacts where ${here})`
  if (page.method === 'index')
    return sql`(select * from contacts where ${here} and ${holding(db, page)} limit ${EXAMINED})`
  const order = page.descending ? sql`desc` : sql`asc`
  return sql`(
    select * from contacts where ${here} order by ${sortPlace(page.column)} ${order}, id ${order} limit ${EXAMINED}
  )`
}

function matching(db: Db, { terms, filter }: ContactConditions) {
  const [first, second] = terms.map(({ text }) => sql`strpos(contacts.search_text, ${text}) > 0`)
  if (first === undefined) return sql`true ${fitting(db, filter)}`
  return second === undefined
    ? sql`${first} ${fitting(db, filter)}`
    : sql`(${first} or ${second}) ${fitting(db, filter)}`
}

function holding(db: Db, { terms, filter }: ContactConditions) {
  const all = ({ trigrams }: SearchTerm) =>
    trigrams
      .map((trigram) => sql`contacts.search_text like ${`%${trigram}%`}`)
      .reduce((before, next) => sql`${before} and ${next}`)
  const [first, second] = isIndexed(terms) ? terms.map(all) : []
  if (first === undefined) return sql`true ${fitting(db, filter)}`
  return second === undefined
    ? sql`${first} ${fitting(db, filter)}`
    : sql`((${first}) or (${second})) ${fitting(db, filter)}`
}

function fitting(db: Db, { status, tag, emailConsent, whatsappConsent, field }: ContactFilter) {
  const is = (column: 'email_consent' | 'whatsapp_consent', value: boolean | null | undefined) => {
    if (value === undefined) return sql``
    return value === null ? sql`and contacts.${db(column)} is null` : sql`and contacts.${db(column)} = ${value}`
  }
  return sql`
    ${status === undefined ? sql`` : sql`and contacts.status = ${status}`}
    ${tag === undefined ? sql`` : sql`and contacts.tags @> ${[tag]}::text[]`}
    ${field === undefined ? sql`` : sql`and ${having(db, field)}`}
    ${is('email_consent', emailConsent)}
    ${is('whatsapp_consent', whatsappConsent)}
  `
}

function having(db: Db, { key, value }: NonNullable<ContactFilter['field']>) {
  const equal = fieldValues(value).map((one) => sql`contacts.custom_fields @> ${db.json({ [key]: one })}`)
  return sql`(${equal.reduce((before, next) => sql`${before} or ${next}`)})`
}

const NEWEST_FIRST = { column: 'created_at', descending: true, isRanked: false, cursor: undefined } as const

/** Returns unordered index matches, and whether all candidates were examined. */
export async function selectMatches(
  db: Db,
  companyId: number,
  terms: readonly SearchTerm[],
): Promise<{ matches: { id: number; starts: boolean }[]; areAll: boolean }> {
  const conditions = { terms, filter: {} }
  const from = searched(db, companyId, {
    ...conditions,
    method: 'index',
    ...NEWEST_FIRST,
  })
  const [row] = await db<{ examined: number; matches: { id: number; starts: boolean }[] }[]>`
    select
      count(*) as examined,
      coalesce(
        jsonb_agg(jsonb_build_object('id', contacts.id, 'starts', ${starting(terms)}))
          filter (where ${matching(db, conditions)}),
        '[]'
      ) as matches
    from ${from} as contacts
  `
  const { examined, matches } = row ?? { examined: 0, matches: [] }
  return { matches, areAll: examined < EXAMINED }
}

/** Samples the newest contacts for matches and index hits; `rare` are the terms without frequent trigrams. */
export async function sampleMatches(
  db: Db,
  companyId: number,
  conditions: ContactConditions,
): Promise<{ matches: number; areAll: boolean; areMany: boolean; rare: readonly SearchTerm[] }> {
  const trigrams = [...new Set(conditions.terms.flatMap((term) => term.trigrams))]
  const [row] = await db<{ looked: number; matches: number; held: number; holders: number[] }[]>`
    select
      count(*) as looked,
      count(*) filter (where ${matching(db, conditions)}) as matches,
      count(*) filter (where ${hasIndex(conditions) ? holding(db, conditions) : sql`true`}) as held,
      array[${holdersOf(trigrams)}]::bigint[] as holders
    from (
      select row_number() over () as place, newest.*
      from (
        select
          contacts.search_text, contacts.status, contacts.tags, contacts.custom_fields, contacts.email_consent,
          contacts.whatsapp_consent
        from contacts
        where ${living(companyId)}
        order by contacts.created_at desc, contacts.id desc
        limit ${SAMPLE}
      ) as newest
    ) as contacts
  `
  const { looked, matches, held, holders } = row ?? { looked: 0, matches: 0, held: 0, holders: [] }
  const sampled = Math.min(looked, TRIGRAM_SAMPLE)
  const frequent = new Set(trigrams.filter((_, place) => (holders[place] ?? 0) >= sampled * 0.9))
  const rare = conditions.terms.map((term) => withoutFrequent(term, frequent))
  return { matches, areAll: looked < SAMPLE, areMany: held > SAMPLE / 10, rare }
}

const holdersOf = (trigrams: readonly string[]) =>
  trigrams
    .map((one) => sql`count(*) filter (where place <= ${TRIGRAM_SAMPLE} and strpos(contacts.search_text, ${one}) > 0)`)
    .reduce((before, next, place) => (place === 0 ? next : sql`${before}, ${next}`), sql``)

/** Drops trigrams found in 90 % of the sample, unless none would remain: each costs a nearly full scan. */
function withoutFrequent({ text, trigrams }: SearchTerm, frequent: ReadonlySet<string>): SearchTerm {
  const rare = trigrams.filter((one) => !frequent.has(one))
  return { text, trigrams: rare.length > 0 ? rare : trigrams }
}

export async function countMatches(
  db: Db,
  companyId: number,
  conditions: ContactConditions,
  method: SearchMethod,
): Promise<{ matches: number; isExact: boolean }> {
  const from = searched(db, companyId, {
    ...conditions,
    method,
    ...NEWEST_FIRST,
  })
  const [row] = await db<{ examined: number; matches: number }[]>`
    select count(*) as examined, count(*) filter (where ${matching(db, conditions)}) as matches
    from ${from} as contacts
  `
  const { examined, matches } = row ?? { examined: 0, matches: 0 }
  return { matches, isExact: examined < EXAMINED }
}
