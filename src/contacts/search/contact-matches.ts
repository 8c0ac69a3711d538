import type { Db } from '../../db/connect.ts'
import { sampleMatches, selectMatchingIds } from './contact-list-store.ts'
import { isIndexed, searchTerms } from './contact-search.ts'

/** More contacts than this are not worth a list of ids: their records are read in their own order instead. */
const FEW = 1_000

/** The contacts that match a search: their `search_text` holds one of the texts. The ids are null when they are many. */
export type ContactMatches = { readonly texts: readonly string[]; readonly ids: readonly number[] | null }

/**
 * The condition of a search, for lists of records that belong to contacts; undefined when it holds nothing to search
 * for.
 */
export async function matchContacts(db: Db, companyId: number, search: string): Promise<ContactMatches | undefined> {
  const terms = searchTerms(search)
  if (terms.length === 0) return undefined
  const texts = terms.map(({ text }) => text)
  if (!isIndexed(terms)) return { texts, ids: null }
  const { areMany, rare } = await sampleMatches(db, companyId, { terms, filter: {} })
  if (areMany) return { texts, ids: null }
  const { ids, areAll } = await selectMatchingIds(db, companyId, rare)
  return { texts, ids: areAll && ids.length <= FEW ? ids : null }
}
