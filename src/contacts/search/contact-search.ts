/** Longest term that is searched for, in characters. */
export const SEARCH_MAX_LENGTH = 200

const TRIGRAM_LENGTH = 3
/** More trigrams of a term narrow it down no further, and each costs a look into the index. */
const TRIGRAMS_MAX = 12

/**
 * Lower case, and every character beyond ASCII as an X and five letters from A to P, the digits of its code point: the
 * index knows letters by the locale of the database, which may know the ASCII ones only. Upper case occurs nowhere else,
 * so a part of the text begins and ends between characters.
 */
const plain = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\0-\x7f]/gu, (character) => {
      const digits = (character.codePointAt(0) ?? 0).toString(16).padStart(5, '0')
      return `X${digits.replaceAll(/./g, (digit) => 'ABCDEFGHIJKLMNOP'.charAt(Number.parseInt(digit, 16)))}`
    })

const oneBlank = (text: string): string => text.replace(/\s+/g, ' ').trim()

/**
 * The searchable text of a contact: name, email and phone, one per line, in lower case. Every writer uses this
 * function.
 */
export function searchText(contact: {
  firstName: string | null
  lastName: string | null
  email: string | null
  phone: string | null
}): string {
  const name = [contact.firstName, contact.lastName].filter((part) => part !== null).join(' ')
  return [name, contact.email ?? '', contact.phone ?? '']
    .map((line) => plain(oneBlank(line)))
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
  const text = plain(oneBlank(search))
  if (text === '') return []
  const whole = toTerm(text)
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  if (digits === '' || digits === text) return [whole]
  const isPhone = whole.trigrams.length === 0 && digits.length >= PHONE_MIN_DIGITS
  return isPhone ? [toTerm(digits)] : [whole, toTerm(digits)]
}

const toTerm = (text: string): SearchTerm => ({ text, trigrams: trigramsOf(text) })

/** Whether the index finds all terms: it knows nothing of texts without three letters or digits in a row. */
export const isIndexed = (terms: readonly SearchTerm[]): boolean => terms.every(({ trigrams }) => trigrams.length > 0)

/** Of each word, every third trigram and the last: those in between overlap them and would hardly narrow the search. */
function trigramsOf(text: string): string[] {
  const trigrams = (text.match(/[a-zA-Z0-9]{3,}/g) ?? []).flatMap((word) => {
    const last = word.length - TRIGRAM_LENGTH
    const places = Array.from({ length: Math.ceil(last / TRIGRAM_LENGTH) }, (_, at) => at * TRIGRAM_LENGTH)
    return [...places, last].map((at) => word.slice(at, at + TRIGRAM_LENGTH))
  })
  return [...new Set(trigrams)].slice(0, TRIGRAMS_MAX)
}
