import type { Db } from '../../db/connect.ts'
import { findHidden, type HiddenMatches } from '../../http/paging/hidden-matches.ts'
import type { ContactFilter } from './contact-filter.ts'
import { type ContactListRequest, type ContactPage, countContacts } from './contact-list.ts'
import { searchTerms } from './search-terms.ts'

/** Counts matches hidden by filters, if a filtered search finds nothing. */
export async function findHiddenContacts(
  db: Db,
  companyId: number,
  { search, filter = {}, cursor }: ContactListRequest,
  page: ContactPage,
): Promise<HiddenMatches | null> {
  const terms = searchTerms(search)
  const isNone = page.total === 0 && page.nextCursor === null && cursor === undefined
  if (!isNone || terms.length === 0) return null
  const present = Object.entries(filter).filter(([, value]) => value !== undefined)
  if (present.length === 0) return null
  return findHidden(
    present.map(([name]) => name),
    (kept) => {
      const others: ContactFilter = Object.fromEntries(present.filter(([name]) => kept.includes(name)))
      return countContacts(db, companyId, { terms, filter: others })
    },
  )
}
