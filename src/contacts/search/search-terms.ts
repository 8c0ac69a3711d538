import { indexedText, trigramsOf } from '../../platform/text/search-text.ts'

export const SEARCH_MAX_LENGTH = 200

export type SearchTerm = { readonly text: string; readonly trigrams: readonly string[] }

/** A shorter formatted text may be a date within a name, such as 01.02.24. */
const PHONE_MIN_DIGITS = 7

/**
 * Expands a search text: a formatted phone number also matches by digits, or only by them if its groups have two
 * digits, since the trigram index cannot find those and names do not contain them.
 */
export function searchTerms(search: string): SearchTerm[] {
  const text = indexedText(search)
  if (text === '') return []
  const whole = toTerm(text)
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  if (digits === '') return [whole]
  if (text.includes(digits)) return [toTerm(digits)]
  const isPhone = whole.trigrams.length === 0 && digits.length >= PHONE_MIN_DIGITS
  return isPhone ? [toTerm(digits)] : [whole, toTerm(digits)]
}

const toTerm = (text: string): SearchTerm => ({ text, trigrams: trigramsOf(text) })

/** Returns whether the trigram index can find all terms; each needs three letters or digits in a row. */
export const isIndexed = (terms: readonly SearchTerm[]): boolean => terms.every(({ trigrams }) => trigrams.length > 0)
