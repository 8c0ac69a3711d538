const QUALITIES = new Map([
  ['HIGH', 'GREEN'],
  ['MEDIUM', 'YELLOW'],
  ['LOW', 'RED'],
])

/** Maps a rating to the contract's names; unknown ones become `UNKNOWN`. */
export function qualityOf(word: string): string {
  const rating = word.toUpperCase()
  return QUALITIES.get(rating) ?? (['GREEN', 'YELLOW', 'RED'].includes(rating) ? rating : 'UNKNOWN')
}
