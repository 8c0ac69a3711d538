export type ConsentWords = { readonly yes: readonly string[]; readonly no: readonly string[] }

export const NO_WORDS: ConsentWords = { yes: [], no: [] }
export const CONSENT_WORDS_MAX = 20
export const CONSENT_WORD_MAX_LENGTH = 40

const YES = ['true', '1', 'yes', 'opted in', 'opt in', 'subscribed', 'subscribe']
const NO = ['false', '0', 'no', 'opted out', 'opt out', 'unsubscribed', 'unsubscribe']
const NOTHING = ['', 'never subscribed', 'not specified', 'unknown']

const plain = (word: string): string =>
  word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/gu, ' ')
    .trim()

/** True opts in, false opts out, null says nothing; undefined: unknown word. */
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

export const splitWords = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Returns a word that both opts in and opts out. */
export const contradictingWord = ({ yes, no }: ConsentWords): string | undefined =>
  yes.find((word) => no.some((other) => plain(other) === plain(word)))
