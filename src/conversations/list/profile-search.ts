import { type Db, type Fragment, sql } from '../../db/connect.ts'
import { refoldTexts } from '../../db/row-walk.ts'
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

type ProfileRow = { id: number; profileName: string; profileSearch: string | null }

/** Refolds a company's profile names. An inbound message folds its own. */
export const refoldProfiles = (db: Db, companyId: number, pause: () => Promise<void>): Promise<void> =>
  refoldTexts<'profileSearch', ProfileRow>(
    db,
    companyId,
    {
      table: 'conversations',
      member: 'profileSearch',
      members: ['id', 'profileName', 'profileSearch'],
      where: sql`profile_name ~ '[^\\x01-\\x7f]'`,
      fold: ({ profileName }) => indexedText(profileName),
    },
    pause,
  )
