import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Below the packages of this version, which the previous one shares. */
const CACHE = join(ROOT, 'node_modules/.cache/parley-previous')
/** The last commit before the upgrades of running processes were tested; a later tag takes its place. */
const FIRST_PREVIOUS = 'b2051672'

/** The programs of the previous release: its folder has `src/main.js`, its migrations and its functions. */
export type PreviousRelease = { name: string; folder: string; main: string }

/**
 * Builds the previous release from the history of this repository: the last tag before this commit, if it comes after
 * FIRST_PREVIOUS. A build is kept.
 *
 * @returns a sentence instead where there is no history, or no registry for a package that this version no longer has
 */
export async function buildPreviousRelease(): Promise<PreviousRelease | string> {
  const commit = git(['rev-parse', '--verify', `${previousName()}^{commit}`])
  if (commit === undefined) return 'this copy of the repository does not have the previous release in its history'
  const folder = join(CACHE, commit)
  if (!existsSync(folder)) {
    try {
      build(commit, folder)
    } catch (error) {
      return `the previous release could not be built: ${error instanceof Error ? error.message : error}`
    }
  }
  return { name: previousName(), folder, main: join(folder, 'built/src/main.js') }
}

function previousName(): string {
  const tag = git(['describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^'])
  const isLater = tag !== undefined && git(['merge-base', '--is-ancestor', FIRST_PREVIOUS, tag]) !== undefined
  return isLater ? tag : FIRST_PREVIOUS
}

function git(args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

function build(commit: string, folder: string): void {
  mkdirSync(CACHE, { recursive: true })
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'))
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1e9 })
    execFileSync('tar', ['-x', '-C', unfinished], { input: archive })
    addPackages(unfinished)
    const built = join(unfinished, 'built')
    mkdirSync(built)
    for (const name of ['migrations', 'console']) symlinkSync(join('..', name), join(built, name))
    const program = join(unfinished, 'scripts/build/bundle.mjs')
    execFileSync(process.execPath, [program, built], { cwd: unfinished, stdio: ['ignore', 'pipe', 'pipe'] })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** Installs the packages that only the previous release has. */
function addPackages(folder: string): void {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  )

  const missing = Object.entries(dependencies).filter(([name]) => !existsSync(join(ROOT, 'node_modules', name)))
  if (missing.length === 0) return
  const place = mkdtempSync(join(tmpdir(), 'parley-packages-'))
  try {
    writeFileSync(
      join(place, 'package.json'),
      JSON.stringify({ private: true, dependencies: Object.fromEntries(missing) }),
    )
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=dev', '--omit=optional']
    execFileSync('npm', ['install', ...options], { cwd: place, stdio: 'pipe', timeout: 60_000 })
    cpSync(join(place, 'node_modules'), join(folder, 'node_modules'), { recursive: true })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
