import { type Fragment, sql } from './connect.ts'

const SEPARATORS = ' \n!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
const BLANKS = ' '.repeat(SEPARATORS.length)

/** Matches words, made of letters and digits, in a folded text column. */
export function startsWord(column: Fragment, part: string): Fragment {
  const words = [...part].map((character) => (SEPARATORS.includes(character) ? ' ' : character)).join('')
  return sql`strpos(translate(' ' || ${column}, ${SEPARATORS}, ${BLANKS}), ${` ${words}`}) > 0`
}
