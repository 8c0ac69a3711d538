/** Words of consent that a list has besides the known ones. */
export type ConsentWords = { readonly yes: readonly string[]; readonly no: readonly string[] }

export const NO_WORDS: ConsentWords = { yes: [], no: [] }
/** Most words of each kind, and most characters of one. */
export const CONSENT_WORDS_MAX = 20
export const CONSENT_WORD_MAX_LENGTH = 40

const YES = ['true', '1', 'yes', 'opted in', 'opt in', 'subscribed', 'subscribe']
const NO = ['false', '0', 'no', 'opted out', 'opt out', 'unsubscribed', 'unsubscribe']
/** Words of exports for people who said nothing. */
const NOTHING = ['', 'never subscribed', 'not specified', 'unknown']

/** Capitals, spaces, hyphens and underscores make no difference. */
const plain = (word: string): string =>
  word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/gu, ' ')
    .trim()

/** Reads a word of consent: true opts in, false opts out, null says nothing; undefined: the word is not known. */
export type ReadConsent = (word: string) => boolean | null | undefined

/** Creates a consent reader; the list's own words take precedence. */
export function createConsentReader({ yes, no }: ConsentWords): ReadConsent {
  const values = new Map<string, boolean | null>([
    ...NOTHING.map((word) => [word, null] as const),
    ...[...YES, ...yes].map((word) => [plain(word), true] as const),
    ...[...NO, ...no].map((word) => [plain(word), false] as const),
    ...yes.map((word) => [plain(word), true] as const),
  ])
  return (word) => values.get(word) ?? values.get(plain(word))
}

/** The words between commas. */
export const splitWords = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** A word that opts in and opts out; undefined: there is none. */
export const contradictingWord = ({ yes, no }: ConsentWords): string | undefined =>
  yes.find((word) => no.some((other) => plain(other) === plain(word)))
