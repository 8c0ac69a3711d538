import { type Fragment, sql } from './connect.ts'

const SEPARATORS = ' \n!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
const BLANKS = ' '.repeat(SEPARATORS.length)

/** Whether a word of a column with folded text starts with a part: letters and digits make words. */
export function startsWord(column: Fragment, part: string): Fragment {
  const words = [...part].map((character) => (SEPARATORS.includes(character) ? ' ' : character)).join('')
  return sql`strpos(translate(' ' || ${column}, ${SEPARATORS}, ${BLANKS}), ${` ${words}`}) > 0`
}
