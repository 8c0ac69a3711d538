const TRIGRAM_LENGTH = 3
/** More trigrams of a text narrow a search down no further, and each costs a look into the index. */
const TRIGRAMS_MAX = 12

/** Accents of European scripts; points of Hebrew; vowel signs, hamza above and below, and the stretching line of Arabic. */
const MARKS =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u08ca-\u08e1\u08e3-\u08ff]/gu
/** Invisible: joiners, direction marks, variation selectors, soft hyphens. */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu

/** Letters that Unicode does not decompose, and punctuation that keyboards replace. */
const REPLACED = new Map([
  ...Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ł: 'l', ŋ: 'n' }),
  ...Object.entries({ ŧ: 't', ĸ: 'k', ƒ: 'f', ɓ: 'b', ɗ: 'd', ƙ: 'k', ƴ: 'y', ɨ: 'i', ʉ: 'u', ς: 'σ' }),
  ...[...'\u2018\u2019\u02bb\u02bc\u2032'].map((mark) => [mark, "'"] as const),
  ...[...'\u2010\u2011\u2012\u2013\u2014\u2015\u2212'].map((dash) => [dash, '-'] as const),
])
const REPLACEABLE = new RegExp(`[${[...REPLACED.keys()].join('')}]`, 'gu')

const oneBlank = (text: string): string => text.replace(/\s+/g, ' ').trim()

/**
 * Returns the text as searches compare it: without case, accents, Arabic marks and width (NFKC), so that "lukasz jose" finds
 * "Łukasz José" and "ガ" finds "ｶﾞ". Every search folds stored texts and terms with this function alone.
 */
export function fold(text: string): string {
  if (IS_PLAIN.test(text)) return oneBlank(text.toLowerCase())
  const letters = text.normalize('NFKD').replace(IGNORABLE, '').replace(MARKS, '').toLowerCase()
  return oneBlank(letters.replace(REPLACEABLE, (letter) => REPLACED.get(letter) ?? letter).normalize('NFC'))
}

const IS_PLAIN = /^[\0-\x7f]*$/

/**
 * Returns the folded text as columns with a trigram index hold it: every character beyond ASCII is an X and five letters
 * from A to P, the digits of its code point. The index knows letters by the locale of the database, which may know the
 * ASCII ones only. Upper case occurs nowhere else, so a part of the text begins and ends between characters.
 */
export function indexedText(text: string): string {
  const folded = fold(text)
  return IS_PLAIN.test(folded) ? folded : folded.replaceAll(/[^\0-\x7f]/gu, toLetters)
}

function toLetters(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).padStart(5, '0')
  return `X${digits.replaceAll(/./g, (digit) => 'ABCDEFGHIJKLMNOP'.charAt(Number.parseInt(digit, 16)))}`
}

/** Of each word, every third trigram and the last: those in between overlap them and would hardly narrow the search. */
export function trigramsOf(text: string): string[] {
  const trigrams = (text.match(/[a-zA-Z0-9]{3,}/g) ?? []).flatMap((word) => {
    const last = word.length - TRIGRAM_LENGTH
    const places = Array.from({ length: Math.ceil(last / TRIGRAM_LENGTH) }, (_, at) => at * TRIGRAM_LENGTH)
    return [...places, last].map((at) => word.slice(at, at + TRIGRAM_LENGTH))
  })
  return [...new Set(trigrams)].slice(0, TRIGRAMS_MAX)
}
