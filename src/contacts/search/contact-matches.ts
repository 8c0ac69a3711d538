import type { Db } from '../../db/connect.ts'
import { sampleMatches, selectMatches } from './contact-list-store.ts'
import { isIndexed, searchTerms } from './search-terms.ts'

/** Above this, callers scan their own records instead. */
const FEW = 1_000

/** `matches` is null if there are too many. `starts`: a word starts with the search. */
export type ContactMatches = {
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
