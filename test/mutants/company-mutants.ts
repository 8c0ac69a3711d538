import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

/** `company_id = ${companyId}`, `m.company_id = c.company_id`: without it, rows of every company match. */
const ALONE = /(?:\w+\.)?company_id = (?:\$\{[^}]+\}|\w+(?:\.company_id)?)/g
/** `(m.company_id, m.id) = (c.company_id, c.message_id)`: without its first part, equal ids of two companies match. */
const IN_A_ROW = /\((?:\w+\.)?company_id, ([^()]+)\)\s+= \((?:\$\{[^}]+\}|[^,()]+), ([^()]+)\)/g

/**
 * A mutant for each comparison of a company in a store or SQL function. Its title names the function and, from the
 * second one on, its place within the function, so that it stays the same when lines move.
 */
export function companyMutants(root: string): Mutant[] {
  const files = [...globSync('src/**/*-store.ts', { cwd: root }), ...globSync('src/**/sql/*.sql', { cwd: root })].sort()
  return files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')))
}

function mutantsOf(file: string, text: string): Mutant[] {
  const alone = [...text.matchAll(ALONE)].map((match) => ({ match, replace: 'true' }))
  const inRow = [...text.matchAll(IN_A_ROW)].map((match) => ({ match, replace: `(${match[1]}) = (${match[2]})` }))
  const places = new Map<string, number>()
  return [...alone, ...inRow]
    .filter(({ match }) => !isAssignment(text, match.index))
    .map(({ match: { 0: find, index }, replace }) => {
      const effect = `${file}: ${functionAt(text, index)} does not compare ${find.replaceAll(/\s+/g, ' ')}`
      const place = (places.get(effect) ?? 0) + 1
      places.set(effect, place)
      return { title: place === 1 ? effect : `${effect} [${place}]`, file, find, replace, offset: index }
    })
}

/** `set company_id = …` writes a company; it compares none. */
const isAssignment = (text: string, index: number): boolean => /\b(?:set|,)\s+$/.test(text.slice(0, index))

/** The function, or the constant with a piece of SQL, that begins last before the place. */
function functionAt(text: string, index: number): string {
  return (
    [...text.slice(0, index).matchAll(/^(?:export )?(?:create |async )?(?:function|const|view) (\w+)/gm)].at(-1)?.[1] ??
    ''
  )
}
