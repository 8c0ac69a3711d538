const TRIGRAM_LENGTH = 3
/** More trigrams hardly narrow a search, and each costs an index lookup. */
const TRIGRAMS_MAX = 12

/** European accents, Hebrew points; Arabic vowel signs, hamza above and below, and tatweel. */
const MARKS =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u08ca-\u08e1\u08e3-\u08ff]/gu
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu

const REPLACED = new Map([
  ...Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ŋ: 'n' }),
  ...Object.entries({ ŧ: 't', ĸ: 'k', ƒ: 'f', ɓ: 'b', ɗ: 'd', ƙ: 'k', ƴ: 'y', ɨ: 'i', ʉ: 'u', ς: 'σ' }),
  ...[...'\u2018\u2019\u02bb\u02bc\u2032'].map((mark) => [mark, "'"] as const),
  ...[...'\u2010\u2011\u2012\u2013\u2014\u2015\u2212'].map((dash) => [dash, '-'] as const),
])
const REPLACEABLE = new RegExp(`[${[...REPLACED.keys()].join('')}]`, 'gu')

const oneBlank = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** "lukasz jose" finds "Łukasz José", "ガ" finds "ｶﾞ". Must fold both stored texts and search terms. */
export function fold(text: string): string {
  if (IS_PLAIN.test(text)) return oneBlank(text.toLowerCase())
  const letters = text.normalize('NFKD').replace(IGNORABLE, '').replace(MARKS, '').toLowerCase()
  return oneBlank(letters.replace(REPLACEABLE, (letter) => REPLACED.get(letter) ?? letter).normalize('NFC'))
}

const IS_PLAIN = /^[\0-\x7f]*$/

/**
 * A non-ASCII character becomes X and five letters A to P, since the index may know ASCII letters only. Upper case
 * occurs nowhere else, so parts start and end between characters.
 */
export function indexedText(text: string): string {
  const folded = fold(text)
  return IS_PLAIN.test(folded) ? folded : folded.replaceAll(/[^\0-\x7f]/gu, toLetters)
}

function toLetters(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).padStart(5, '0')
  return `X${digits.replaceAll(/./g, (digit) => 'ABCDEFGHIJKLMNOP'.charAt(Number.parseInt(digit, 16)))}`
}

/** Every third trigram per word and the last: those in between overlap. */
export function trigramsOf(text: string): string[] {
  const trigrams = (text.match(/[a-zA-Z0-9]{3,}/g) ?? []).flatMap((word) => {
    const last = word.length - TRIGRAM_LENGTH
    const places = Array.from({ length: Math.ceil(last / TRIGRAM_LENGTH) }, (_, at) => at * TRIGRAM_LENGTH)
    return [...places, last].map((at) => word.slice(at, at + TRIGRAM_LENGTH))
  })
  return [...new Set(trigrams)].slice(0, TRIGRAMS_MAX)
}
