import type { Db } from '../../db/connect.ts'
import { isIndexed, searchTerms } from '../../people/contact-search.ts'
import { sampleMatches, selectMatches } from './contact-list-store.ts'

/** More contacts than this are not worth a list of ids: their records are read in their own order instead. */
const FEW = 1_000

/** The contacts that match a search: their `search_text` holds one of the texts. The matches are null when they are many; `starts`: a word
 * of the contact starts with the search. */
export type ContactMatches = {
  readonly texts: readonly string[]
  readonly matches: readonly { readonly id: number; readonly starts: boolean }[] | null
}

/**
 * The condition of a search, for lists of records that belong to contacts; undefined when it holds nothing to search
 * for.
 */
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
