import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ROOT } from './program-file.ts'

const { version, build }: { version: string; build?: string } = JSON.parse(
  readFileSync(new URL('package.json', ROOT), 'utf8'),
)

/** Unique per build: package.json version and commit, from the build (scripts/build/build-id.mjs) or git. */
export const VERSION: string = `${version}+${build ?? commitOfSources()}`

function commitOfSources(): string {
  try {
    const cwd = fileURLToPath(ROOT)
    return execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return 'sources'
  }
}
