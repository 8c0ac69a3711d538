import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../files.mjs'

/** What the programs are built from. */
export const SOURCES = [
  ...['src', 'sandbox', 'migrations', 'package.json', 'package-lock.json'],
  ...['bundle.mjs', 'build-id.mjs', 'sources.mjs', 'undici.mjs'].map((name) => join('scripts', 'build', name)),
]

/** The SHA-256 of these files and folders, without those of tests. */
export function digestOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths.flatMap(filesBelow)) {
    hash.update(`${path}\0`).update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}

/** The file itself, or the files in the folder, without those of tests. */
function filesBelow(path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (found === undefined) return []
  if (found.isFile()) return [path]
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
    .sort()
}
