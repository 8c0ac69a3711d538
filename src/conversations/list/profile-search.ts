import { type Db, type Fragment, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { startsWord } from '../../db/word-start.ts'
import { indexedText, trigramsOf } from '../../platform/text/search-text.ts'
import { MAX_EXAMINED, type RankedMatch, type SearchMatches } from './conversation-source.ts'

/** `matches` is null if there are many. */
type ContactMatches = { readonly texts: readonly string[]; readonly matches: readonly RankedMatch[] | null }

export type MatchContacts = (db: Db, companyId: number, search: string) => Promise<ContactMatches | undefined>

/** Above this the list is read in its own order. */
const FEW = 1_000

/** Finds conversations by contact or profile name; undefined without searchable text. */
export async function findMatches(
  db: Db,
  companyId: number,
  search: string,
  matchContacts: MatchContacts,
): Promise<SearchMatches | undefined> {
  const profileText = indexedText(search)
  const [found, conversations] = await Promise.all([
    matchContacts(db, companyId, search),
    findByProfile(db, companyId, profileText),
  ])
  if (found === undefined) return undefined
  const { texts, matches: contacts } = found
  if (contacts !== null && conversations !== null) return { contacts, conversations }
  return { texts, profileText: profileText === '' ? null : profileText }
}

async function findByProfile(db: Db, companyId: number, text: string): Promise<readonly RankedMatch[] | null> {
  if (text === '') return []
  const trigrams = trigramsOf(text)
  if (trigrams.length === 0 || (await areManyProfiles(db, companyId, trigrams))) return null
  const { matches, areAll } = await selectByProfile(db, companyId, text, trigrams, MAX_EXAMINED)
  return areAll && matches.length <= FEW ? matches : null
}

const SAMPLE = 500

/** Estimates from the newest `SAMPLE` conversations whether more than a tenth would match. */
async function areManyProfiles(db: Db, companyId: number, trigrams: readonly string[]): Promise<boolean> {
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
async function readProfileRows(
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
async function writeProfileTexts(
  db: Db,
  companyId: number,
  texts: readonly { id: number; name: string; text: string }[],
): Promise<void> {
  await db`
    with input as materialized (
      select * from ${inputRows(texts, { bigint: ['id'], text: ['name', 'text'] })}
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

const WINDOW = 5_000
const WRITTEN_AT_ONCE = 500

/** Refolds a company's profile names; skips locked conversations, whose inbound message folds the name. */
export async function refoldProfiles(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const { last, rows } = await readProfileRows(db, companyId, after, WINDOW)
    if (last === null) return
    const changed = rows
      .map(({ id, profileName, profileSearch }) => ({
        id,
        name: profileName,
        former: profileSearch,
        text: indexedText(profileName),
      }))
      .filter(({ former, text }) => former !== text)
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      await writeProfileTexts(db, companyId, changed.slice(at, at + WRITTEN_AT_ONCE))
      await pause()
    }
    after = last
    await pause()
  }
}
