import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../files.mjs'
import { digestOf, SOURCES } from './sources.mjs'

const LENGTH = 8

/**
 * What follows the `+` of the version: the commit; with changes that are not committed, the digest of the sources, too; without
 * git the digest alone. `PARLEY_COMMIT` names the commit where the folder has no git, such as in an image that is being built.
 */
export function buildId() {
  const digest = `src.${digestOf(SOURCES).slice(0, LENGTH)}`
  const named = process.env.PARLEY_COMMIT?.slice(0, LENGTH)
  if (named) return named
  const commit = git(['rev-parse', `--short=${LENGTH}`, 'HEAD'])
  if (!existsSync(join(root, '.git')) || commit === undefined) return digest
  const changes = git(['status', '--porcelain', '--untracked-files=all', '--', ...SOURCES])
  return changes === '' ? commit : `${commit}.${digest}`
}

function git(args) {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}
