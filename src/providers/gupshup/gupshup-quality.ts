const QUALITIES = new Map([
  ['HIGH', 'GREEN'],
  ['MEDIUM', 'YELLOW'],
  ['LOW', 'RED'],
])

/** Reads one of Gupshup's ratings as the contract names it; an unknown one counts as not rated. */
export function qualityOf(word: string): string {
  const rating = word.toUpperCase()
  return QUALITIES.get(rating) ?? (['GREEN', 'YELLOW', 'RED'].includes(rating) ? rating : 'UNKNOWN')
}
