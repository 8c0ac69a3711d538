import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One deliberate fault: the tests must notice it. */
export type Mutant = {
  /** The effect of the fault, as a sentence. */
  title: string
  /** From the root of the repository. */
  file: string
  /** The text that is replaced; it occurs once in the file, or from `offset` on. */
  find: string
  replace: string
  offset?: number
  /** Test files that are tried first. */
  tests?: string[]
}

/** The text of the file with the fault in it. Throws when the list and the code have grown apart. */
export function mutate(root: string, { title, file, find, replace, offset }: Mutant): string {
  const text = readFileSync(join(root, file), 'utf8')
  const at = text.indexOf(find, offset)
  const isUnique = offset === undefined ? text.indexOf(find, at + 1) === -1 : at === offset
  if (at === -1 || !isUnique) throw new Error(`"${title}": the text to replace occurs not exactly once in ${file}`)
  return text.slice(0, at) + replace + text.slice(at + find.length)
}
