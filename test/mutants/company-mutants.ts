import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

/** `company_id`, `m.company_id`, `(send.item).company_id` */
const COLUMN = String.raw`(?:(?:\w+|\([\w.]+\))\.)?company_id`
/** Other columns or values of a row. */
const REST = String.raw`((?:[^()]|\([\w.]+\))+)`

/**
 * The forms of a comparison of companies, and how each becomes a fault:
 * - `company_id = ${companyId}`, `m.company_id = c.company_id`: without it, rows of every company match;
 * - `(m.company_id, m.id) = (c.company_id, c.message_id)`: without its first part, equal ids of two companies match;
 * - `(m.company_id, m.id) in (select c.company_id, c.message_id …)`: likewise.
 */
const FORMS: { pattern: RegExp; replace: (left: string, right: string) => string }[] = [
  { pattern: /(?:\w+\.)?company_id = (?:\$\{[^}]+\}|\w+(?:\.company_id)?)/g, replace: () => 'true' },
  {
    pattern: new RegExp(
      String.raw`\(${COLUMN}, ${REST}\)\s+= \((?:\$\{[^}]+\}|\(select company\)|${COLUMN}|[^,()]+), ${REST}\)`,
      'g',
    ),
    replace: (left, right) => `(${left}) = (${right})`,
  },
  {
    pattern: new RegExp(String.raw`\(${COLUMN}, ${REST}\)\s+in \(\s*select ${COLUMN}, `, 'g'),
    replace: (left) => `(${left}) in (select `,
  },
]

/**
 * A mutant for each comparison of a company in a store or SQL function. Its title names the function and, from the
 * second one on, its place within the function, so that it stays the same when lines move. The tests of the room about
 * companies whose rows have the same ids are quick and notice most of them: they come first.
 */
export function companyMutants(root: string): Mutant[] {
  const files = [...globSync('src/**/*-store.ts', { cwd: root }), ...globSync('src/**/sql/*.sql', { cwd: root })].sort()
  return roundRobin(
    files.map((file) => {
      const tests = globSync(`src/${file.split('/')[1]}/*-apart.test.ts`, { cwd: root }).sort()
      return mutantsOf(file, readFileSync(join(root, file), 'utf8')).map((mutant) => ({ ...mutant, tests }))
    }),
  )
}

/** One of each file, then the next of each: a run that ends early is a sample of all files. */
function roundRobin(groups: Mutant[][]): Mutant[] {
  const longest = Math.max(...groups.map(({ length }) => length))
  return Array.from({ length: longest }, (_, place) => groups.flatMap((group) => group[place] ?? [])).flat()
}

/** The mutants of one file with this text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const places = new Map<string, number>()
  return FORMS.flatMap(({ pattern, replace }) => [...text.matchAll(pattern)].map((match) => ({ match, replace })))
    .filter(({ match }) => !isAssignment(text, match.index))
    .map(({ match, replace }) => {
      const [find, left = '', right = ''] = match
      const effect = `${file}: ${functionAt(text, match.index)} does not compare ${find.trim().replaceAll(/\s+/g, ' ')}`
      const place = (places.get(effect) ?? 0) + 1
      places.set(effect, place)
      const title = place === 1 ? effect : `${effect} [${place}]`
      return { title, file, find, replace: replace(left, right), offset: match.index }
    })
}

/** `set company_id = …` writes a company; it compares none. */
const isAssignment = (text: string, index: number): boolean => /\b(?:set|,)\s+$/.test(text.slice(0, index))

/** The function, or the constant with a piece of SQL, that begins last before the place. */
function functionAt(text: string, index: number): string {
  return (
    [...text.slice(0, index).matchAll(/^(?:export )?(?:create |async )?(?:function\*?|const|view) (\w+)/gm)].at(
      -1,
    )?.[1] ?? ''
  )
}
