import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

/** `company_id = ${companyId}`, `m.company_id = c.company_id`: without it, rows of every company match. */
const ALONE = /(?:\w+\.)?company_id = (?:\$\{[^}]+\}|\w+(?:\.company_id)?)/g
/** `(m.company_id, m.id) = (c.company_id, c.message_id)`: without its first part, equal ids of two companies match. */
const IN_A_ROW = /\((?:\w+\.)?company_id, ([^()]+)\)\s+= \((?:\$\{[^}]+\}|[^,()]+), ([^()]+)\)/g

/** A mutant for each comparison of a company in a store or SQL function. */
export function companyMutants(root: string): Mutant[] {
  const files = [...globSync('src/**/*-store.ts', { cwd: root }), ...globSync('src/**/sql/*.sql', { cwd: root })].sort()
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const alone = [...text.matchAll(ALONE)].map((match) => ({ match, replace: 'true' }))
    const inRow = [...text.matchAll(IN_A_ROW)].map((match) => ({ match, replace: `(${match[1]}) = (${match[2]})` }))
    return [...alone, ...inRow]
      .filter(({ match }) => !isAssignment(text, match.index))
      .map(({ match: { 0: find, index }, replace }) => ({
        title: `${file}:${text.slice(0, index).split('\n').length} does not compare the company: ${find}`,
        ...{ file, find, replace, offset: index, tests: [`${roomOf(file)}/`] },
      }))
  })
}

/** `set company_id = …` writes a company; it compares none. */
const isAssignment = (text: string, index: number): boolean => /\b(?:set|,)\s+$/.test(text.slice(0, index))

const roomOf = (file: string): string => file.split('/').slice(0, 2).join('/')
