import { type Db, type Fragment, jsonRows, sql } from '../../db/connect.ts'
import { startsWord } from '../../db/word-start.ts'
import type { RankedMatch } from './conversation-filter.ts'

const SAMPLE = 500

/** Estimates from the newest `SAMPLE` conversations whether more than a tenth would match. */
export async function areManyProfiles(db: Db, companyId: number, trigrams: readonly string[]): Promise<boolean> {
  const [row] = await db<{ held: number }[]>`
    select count(*) filter (where ${holding(trigrams)}) as held
    from (
      select existing.profile_search
      from conversations existing
      where existing.company_id = ${companyId}
      order by existing.id desc
      limit ${SAMPLE}
    ) as conversation
  `
  return (row?.held ?? 0) > SAMPLE / 10
}

/** Finds profile names with a text among the first `limit` trigram hits, unordered; also whether these were all. */
export async function selectByProfile(
  db: Db,
  companyId: number,
  text: string,
  trigrams: readonly string[],
  limit: number,
): Promise<{ matches: RankedMatch[]; areAll: boolean }> {
  const [row] = await db<{ examined: number; matches: RankedMatch[] }[]>`
    select
      count(*) as examined,
      coalesce(
        jsonb_agg(jsonb_build_object('id', found.id, 'starts', ${startsWord(sql`found.profile_search`, text)}))
          filter (where strpos(found.profile_search, ${text}) > 0),
        '[]'
      ) as matches
    from (
      select conversation.id, conversation.profile_search
      from conversations conversation
      where conversation.company_id = ${companyId}
        and conversation.profile_search is not null
        and ${holding(trigrams)}
      limit ${limit}
    ) as found
  `
  const { examined, matches } = row ?? { examined: 0, matches: [] }
  return { matches, areAll: examined < limit }
}

const holding = (trigrams: readonly string[]): Fragment =>
  trigrams
    .map((trigram) => sql`conversation.profile_search like ${`%${trigram}%`}`)
    .reduce((before, next) => sql`${before} and ${next}`)

/** Reads non-ASCII profile names among `limit` conversations after an id; `last` is null at the end. */
export async function readProfileRows(
  db: Db,
  companyId: number,
  after: number,
  limit: number,
): Promise<{ last: number | null; rows: { id: number; profileName: string; profileSearch: string | null }[] }> {
  const [end] = await db<{ last: number | null }[]>`
    select max(id) as last
    from (
      select id from conversations where company_id = ${companyId} and id > ${after} order by id limit ${limit}
    ) as part
  `
  const last = end?.last ?? null
  if (last === null) return { last, rows: [] }
  const rows = await db<{ id: number; profileName: string; profileSearch: string | null }[]>`
    select id, profile_name, profile_search
    from conversations
    where company_id = ${companyId} and id > ${after} and id <= ${last} and profile_name ~ '[^\\x01-\\x7f]'
    order by id
  `
  return { last, rows }
}

/** Replaces search texts where the name is unchanged; skips locked rows. */
export async function writeProfileTexts(
  db: Db,
  companyId: number,
  texts: readonly { id: number; name: string; text: string }[],
): Promise<void> {
  await db`
    with input as materialized (
      select * from jsonb_to_recordset(${jsonRows(db, texts)}) as input (id bigint, name text, text text)
    ),
    free as (
      select conversation.id, input.text
      from conversations conversation
      join input on input.id = conversation.id
      where conversation.company_id = ${companyId} and conversation.profile_name = input.name
      order by conversation.id
      for no key update of conversation skip locked
    )
    update conversations
    set profile_search = free.text
    from free
    where (conversations.company_id, conversations.id) = (${companyId}, free.id)
  `
}
