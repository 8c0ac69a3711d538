import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the clone. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The Node 24 of the packages, or that of the machine where no install script fetched one (npm ci --ignore-scripts). */
export function carriedNode() {
  const carried = join('node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')
  return existsSync(join(root, carried)) ? carried : 'node'
}

export function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  }
}

/** A reader meets the old contents or the new ones, never a part. */
export function writeIfDifferent(path, text) {
  if (readIfThere(path) === text) return
  const written = `${path}.${process.pid}`
  writeFileSync(written, text)
  renameSync(written, path)
}
