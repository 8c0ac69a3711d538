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

/** A text as it is looked for in that of the contacts. */
export type SearchTerm = { readonly text: string }

/**
 * What a search text may mean: itself, and when it looks like a phone number in some formatting, its digits too.
 * Empty: nothing is searched for.
 */
export function searchTerms(search: string): SearchTerm[] {
  const text = plain(search).replace(/\s+/g, ' ').trim()
  if (text === '') return []
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  return (digits !== '' && digits !== text ? [text, digits] : [text]).map((one) => ({ text: one }))
}

/** What the index is asked for (a tsquery): contacts that hold the runs of characters of one of the terms. */
export const toIndexQuery = (companyId: number, terms: readonly SearchTerm[]): string =>
  terms
    .map(
      ({ text }) =>
        `(${runsOf(text)
          .map((run) => toLexeme(companyId, run))
          .join(' & ')})`,
    )
    .join(' | ')

/**
 * Runs of which the text is made up, as `contact_grams` in the database makes them: the next where one ends, and the last.
 * Those in between would narrow down next to nothing and be looked up all the same. A shorter text is the beginning of one.
 */
function runsOf(text: string): string[] {
  const characters = [...text]
  if (characters.length < GRAM_LENGTH) return [text]
  const last = characters.length - GRAM_LENGTH
  const starts = [...characters.keys()].filter((at) => at === last || (at < last && at % GRAM_LENGTH === 0))
  return [...new Set(starts.map((at) => characters.slice(at, at + GRAM_LENGTH).join('')))]
}

const toLexeme = (companyId: number, run: string): string =>
  `'${companyId}:${run.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${[...run].length < GRAM_LENGTH ? ':*' : ''}`
