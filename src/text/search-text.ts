const TRIGRAM_LENGTH = 3
/** More trigrams of a text narrow a search down no further, and each costs a look into the index. */
const TRIGRAMS_MAX = 12

/**
 * Lower case, and every character beyond ASCII as an X and five letters from A to P, the digits of its code point: the
 * index knows letters by the locale of the database, which may know the ASCII ones only. Upper case occurs nowhere else,
 * so a part of the text begins and ends between characters.
 */
export function plain(text: string): string {
  const lower = text.normalize('NFC').toLowerCase()
  return BEYOND_ASCII.test(lower) ? lower.replaceAll(/[^\0-\x7f]/gu, toLetters) : lower
}

const BEYOND_ASCII = /[^\0-\x7f]/u

function toLetters(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).padStart(5, '0')
  return `X${digits.replaceAll(/./g, (digit) => 'ABCDEFGHIJKLMNOP'.charAt(Number.parseInt(digit, 16)))}`
}

export const oneBlank = (text: string): string => text.replace(/\s+/g, ' ').trim()

/**
 * The same without accents and with plain letters for decorated ones, so that "jose" finds "José" and "𝓙𝓸𝓼𝓮́". The migration
 * that adds `conversations.profile_search` writes it for the common alphabets.
 */
export const folded = (text: string): string =>
  plain(
    oneBlank(text.normalize('NFKD').replace(/[\u0300-\u036f]/g, ''))
      .toLowerCase()
      .replaceAll('ς', 'σ'),
  )

/** Of each word, every third trigram and the last: those in between overlap them and would hardly narrow the search. */
export function trigramsOf(text: string): string[] {
  const trigrams = (text.match(/[a-zA-Z0-9]{3,}/g) ?? []).flatMap((word) => {
    const last = word.length - TRIGRAM_LENGTH
    const places = Array.from({ length: Math.ceil(last / TRIGRAM_LENGTH) }, (_, at) => at * TRIGRAM_LENGTH)
    return [...places, last].map((at) => word.slice(at, at + TRIGRAM_LENGTH))
  })
  return [...new Set(trigrams)].slice(0, TRIGRAMS_MAX)
}
