import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { indexedText, trigramsOf } from '../platform/text/search-text.ts'
import { TEXT_MEMBERS, TEXT_NAMES, type Texts } from './members/text-members.ts'

/** Longest term that is searched for, in characters. */
export const SEARCH_MAX_LENGTH = 200

const NAMES = TEXT_NAMES.filter((name) => TEXT_MEMBERS[name].isName)

/**
 * Returns the searchable text of a contact: name, email and phone, one per line, folded. A domain in another script has a line
 * for each spelling. Every writer uses this function.
 */
export function searchText(contact: Partial<Texts> & { email: string | null; phone: string | null }): string {
  const name = NAMES.flatMap((part) => contact[part] ?? []).join(' ')
  const emails = contact.email === null ? [] : storedKeys(emailKey(contact.email))
  return [name, ...emails, contact.phone ?? '']
    .map(indexedText)
    .filter((line) => line !== '')
    .join('\n')
}

/** A text as it is searched for in that of the contacts, and the trigrams of three letters or digits that it holds. */
export type SearchTerm = { readonly text: string; readonly trigrams: readonly string[] }

/** With fewer digits a formatted text may be a date of a name, such as 01.02.24. */
const PHONE_MIN_DIGITS = 7

/**
 * The texts that a search text stands for: itself, and when it looks like a formatted phone number, its digits too. The
 * digits alone if the index knows nothing of a number's groups (two digits each): names do not hold such texts. Empty:
 * there is nothing to search for.
 */
export function searchTerms(search: string): SearchTerm[] {
  const text = indexedText(search)
  if (text === '') return []
  const whole = toTerm(text)
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  if (digits === '') return [whole]
  // A text with the whole holds the digits, too.
  if (text.includes(digits)) return [toTerm(digits)]
  const isPhone = whole.trigrams.length === 0 && digits.length >= PHONE_MIN_DIGITS
  return isPhone ? [toTerm(digits)] : [whole, toTerm(digits)]
}

const toTerm = (text: string): SearchTerm => ({ text, trigrams: trigramsOf(text) })

/** Whether the index finds all terms: it knows nothing of texts without three letters or digits in a row. */
export const isIndexed = (terms: readonly SearchTerm[]): boolean => terms.every(({ trigrams }) => trigrams.length > 0)
