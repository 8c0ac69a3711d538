import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A checksum of the files of the repository that the patterns name, without those of tests. */
export function checksumOf(patterns: string[]): string {
  const hash = createHash('sha256')
  const entries = globSync(patterns, { cwd: ROOT, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
  for (const file of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()) {
    hash.update(relative(ROOT, file)).update('\0').update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 16)
}
