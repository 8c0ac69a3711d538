/** Longest term that is searched for, in characters. */
export const SEARCH_MAX_LENGTH = 200

const GRAM_LENGTH = 3

const plain = (text: string): string => text.normalize('NFC').toLowerCase()

/** What a contact is found by: name, email and phone, one per line, in lower case. Made here for every writer. */
export function searchText(contact: {
  firstName: string | null
  lastName: string | null
  email: string | null
  phone: string | null
}): string {
  const name = [contact.firstName, contact.lastName].filter((part) => part !== null).join(' ')
  return [name, contact.email ?? '', contact.phone ?? '']
    .map((line) => plain(line.replaceAll('\n', ' ')))
    .filter((line) => line !== '')
    .join('\n')
}

/** A term as it is looked for, and the runs of characters that the index must hold for it; none: it is not indexed. */
export type SearchTerm = { readonly text: string; readonly grams: readonly string[] }

/**
 * What a search text may mean: itself, and when it looks like a phone number in some formatting, its digits too.
 * Empty: nothing is searched for.
 */
export function searchTerms(companyId: number, search: string): SearchTerm[] {
  const text = plain(search).replace(/\s+/g, ' ').trim()
  if (text === '') return []
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  const texts = digits !== '' && digits !== text ? [text, digits] : [text]
  return texts.map((one) => ({ text: one, grams: gramsOf(companyId, one) }))
}

/** As `contact_grams` in the database makes them, but only the longest: they imply the shorter. */
function gramsOf(companyId: number, text: string): string[] {
  const characters = [...text]
  const size = Math.min(GRAM_LENGTH, characters.length)
  if (size === 1 && Buffer.byteLength(text) === 1) return []
  const grams = characters.slice(size - 1).map((_, place) => characters.slice(place, place + size).join(''))
  return [...new Set(grams)].map((gram) => `${companyId}:${gram}`)
}
