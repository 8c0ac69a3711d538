import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const VARIABLE = /^(npm_config_(cafile|registry|https?_proxy|proxy)|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i

/** The variables of the environment that say how this machine reaches the npm registry. */
const registryAccess = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && VARIABLE.test(name) ? [[name, value]] : [],
    ),
  )

/**
 * The environment of npm on a new machine: it reaches the registry as this one does, and its cache knows the packages of this
 * one's, so that a test hardly downloads. A registry that cannot be reached ends the command soon.
 */
export function npmEnvironment(folder: string): Record<string, string> {
  const cache = join(folder, 'npm')
  mkdirSync(cache)
  const npmCache = join(process.env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache')
  if (existsSync(npmCache)) symlinkSync(npmCache, join(cache, '_cacache'))
  return {
    ...registryAccess(),
    HOME: folder,
    npm_config_cache: cache,
    npm_config_prefer_offline: 'true',
    npm_config_fetch_retries: '1',
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '2000',
    npm_config_fetch_timeout: '30000',
  }
}

/** Builds `dist`; its programs. */
export function build(): string[] {
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  return globSync('**/*.js', { cwd: join(ROOT, 'dist') })
}

/** Builds the package into the folder; its version. */
export function pack(folder: string): string {
  const args = ['scripts/package.mjs', '--to', folder]
  const name = execFileSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return /^parley-(.+)\.tgz$/m.exec(name)?.[1] ?? name
}

/** Makes a package of a later version of one that is packed, with a migration that the earlier one does not have. */
export function packLater(folder: string, [from, to]: [string, string], migration: string): void {
  const [number = '', build = ''] = to.split('+')
  const work = join(folder, `later-${to}`)
  mkdirSync(work)
  execFileSync('tar', ['-xzf', join(folder, `parley-${from}.tgz`), '-C', work])
  for (const file of ['package/package.json', 'package/dist/package.json']) {
    const text = readFileSync(join(work, file), 'utf8')
    const manifest: object = JSON.parse(text)
    const version = 'build' in manifest ? { version: number, build } : { version: to }
    writeFileSync(join(work, file), JSON.stringify({ ...manifest, ...version }))
  }
  writeFileSync(join(work, 'package/dist/migrations', `9${number.replaceAll('.', '')}_later.sql`), migration)
  execFileSync('tar', ['-czf', join(folder, `parley-${to}.tgz`), '-C', work, 'package'])
}

/** Bytes of the files below a folder. */
export const bytesIn = (folder: string): number =>
  globSync('**', { cwd: folder }).reduce((sum, path) => sum + sizeOf(join(folder, path)), 0)

function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? found.size : 0
}
