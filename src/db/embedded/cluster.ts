import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { diskFull } from '../../platform/files/writable-folder.ts'
import { codeOf, StartError } from '../../platform/start-error.ts'
import type { Account } from './account.ts'
import { checkSpace, type DataFolder, START_BYTES } from './folder.ts'
import { spawnKept } from './keeper.ts'
import { MAJOR_VERSION, unusableBinary } from './package.ts'

const MEGABYTE = 1024 * 1024
/** A new cluster takes 39 MB; the rest is for the write-ahead log and the parley database. */
const NEW_CLUSTER_BYTES = 128 * MEGABYTE
const UNFINISHED = 'postgres.new-'

/** Sorted by bytes; no TCP access. */
const INITDB_OPTIONS = [
  ...['--username=parley', '--encoding=UTF8', '--auth-local=trust', '--auth-host=reject'],
  ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
]

/** Returns whether the folder holds a cluster. Throws StartError for another PostgreSQL version, or without room. */
export async function findCluster(folder: DataFolder): Promise<boolean> {
  const version = await readVersion(folder)
  if (version !== undefined && version !== String(MAJOR_VERSION)) throw otherVersion(folder, version)
  checkSpace(folder, version === undefined ? NEW_CLUSTER_BYTES : START_BYTES)
  return version !== undefined
}

async function readVersion(folder: DataFolder): Promise<string | undefined> {
  try {
    return (await readFile(join(folder.cluster, 'PG_VERSION'), 'utf8')).trim()
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'ENOENT') {
      throw new StartError(`${folder.cluster} can't be read (${code}): start Parley as the user who owns it`, error)
    }
    const content = await readdir(folder.cluster).catch(() => [])
    if (content.length === 0) return undefined
    throw new StartError(`${folder.cluster} holds something else than a PostgreSQL cluster: move it away`)
  }
}

function otherVersion(folder: DataFolder, version: string): StartError {
  return new StartError(
    `The data in ${folder.cluster} is of PostgreSQL ${version}, and this Parley carries PostgreSQL ${MAJOR_VERSION}. ` +
      `Start the Parley that made it and move the data with pg_dump and psql, set DATABASE_URL to a PostgreSQL ${version} ` +
      'server on that data, or set DATA_DIR to a new folder to begin without it',
  )
}

/** Creates a cluster, renamed when complete, so a killed process never leaves half. `durable` waits for the disk. */
export async function createCluster(
  folder: DataFolder,
  account: Account,
  initdb: string,
  durable: boolean,
): Promise<void> {
  await removeUnfinished(folder)
  const unfinished = join(folder.path, `${UNFINISHED}${randomBytes(4).toString('hex')}`)
  const options = durable ? INITDB_OPTIONS : [...INITDB_OPTIONS, '--no-sync']
  const { code, output } = await runToEnd(account, initdb, [`--pgdata=${unfinished}`, ...options])
  if (code !== 0) {
    await rm(unfinished, { recursive: true, force: true })
    throw failed(folder, code, output)
  }
  await rename(unfinished, folder.cluster)
  if (durable) await syncFolder(folder.path)
}

async function removeUnfinished(folder: DataFolder): Promise<void> {
  const names = (await readdir(folder.path)).filter((name) => name.startsWith(UNFINISHED))
  for (const name of names) await rm(join(folder.path, name), { recursive: true, force: true, maxRetries: 5 })
}

async function runToEnd(account: Account, program: string, args: string[]) {
  const child = spawnKept(account, program, args, ['ignore', 'pipe'])
  const ended = once(child, 'close').catch((error: unknown) => [126, error])
  const output = child.stderr ? await text(child.stderr) : ''
  const [code] = await ended
  return { code: typeof code === 'number' ? code : -1, output }
}

function failed(folder: DataFolder, code: number, output: string): StartError {
  if (/No space left|quota exceeded/i.test(output)) return diskFull(folder.path, output)
  if (code === 126 || code === 127) return unusableBinary(output)
  return new StartError(
    `PostgreSQL could not make its data in ${folder.cluster} (initdb, code ${code}):\n${output.trim()}`,
  )
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}
