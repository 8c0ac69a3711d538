import type { Db } from '../../db/connect.ts'
import { indexedText, trigramsOf } from '../../platform/text/search-text.ts'
import { MAX_EXAMINED, type RankedMatch, type SearchMatches } from './conversation-filter.ts'
import { areManyProfiles, selectByProfile } from './profile-search-store.ts'

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
