import { createHash } from 'node:crypto'
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { chown, lstat, mkdir, realpath, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  diskFull,
  giveToFolderOwner,
  makeWritableFolder,
  unusableFolder,
} from '../../platform/files/writable-folder.ts'
import { codeOf, StartError } from '../../platform/start-error.ts'

export type DataFolder = { path: string; cluster: string; log: string }

export class FolderInUse extends StartError {}

/** The longest Unix socket path accepted everywhere. */
const SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107
const SOCKET_NAME = '/.s.PGSQL.5432'
const SQLITE_BUSY = 5

export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  const resolved = resolve(dataDir)
  await makeWritableFolder(resolved)
  // The socket path is derived from this, whatever links led here.
  const path = await realpath(resolved)
  return { path, cluster: join(path, 'postgres'), log: join(path, 'postgres.log') }
}

/** Locks the folder; returns the release function. SQLite's lock ends with the process, on every system. */
export function lockDataFolder(folder: DataFolder): () => void {
  const pidFile = join(folder.path, 'parley.pid')
  const lock = takeLock(folder, pidFile)
  noteOwner(pidFile)
  return () => {
    if (!lock.isOpen) return
    rmSync(pidFile, { force: true })
    lock.close()
  }
}

function takeLock(folder: DataFolder, pidFile: string): DatabaseSync {
  try {
    const path = join(folder.path, 'parley.lock')
    const lock = new DatabaseSync(path, { timeout: 0 })
    giveToFolderOwner(path)
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return lock
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) throw inUse(folder, pidFile)
    throw unusableFolder(folder.path, error)
  }
}

function inUse(folder: DataFolder, pidFile: string): FolderInUse {
  return new FolderInUse(
    `Another Parley${ownerOf(pidFile)} uses the data folder ${folder.path}: stop that one first, or set DATA_DIR to another folder`,
  )
}

function ownerOf(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    return ''
  }
}

/** Only for the message above: skipped on a full disk. */
function noteOwner(pidFile: string): void {
  try {
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch {
    rmSync(pidFile, { force: true })
  }
}

export const START_BYTES = 32 * 1024 * 1024

/** Refuses a start without disk room: PostgreSQL's own message would be lost on the same full disk. */
export function checkSpace(folder: DataFolder, neededBytes: number): void {
  const free = freeBytes(folder)
  if (free < neededBytes) throw diskFull(folder.path, undefined, { freeBytes: free, neededBytes })
}

export function freeBytes(folder: DataFolder): number {
  const disk = statfsSync(folder.path)
  return disk.bavail * disk.bsize
}

/** Returns the cluster itself or, if that path is too long, a short one elsewhere. */
export function socketFolder(folder: DataFolder): string {
  if (Buffer.byteLength(folder.cluster + SOCKET_NAME) <= SOCKET_PATH_BYTES) return folder.cluster
  const name = `parley-${createHash('sha256').update(folder.path).digest('hex').slice(0, 16)}`
  const short = join(tmpdir(), name)
  return Buffer.byteLength(short + SOCKET_NAME) <= SOCKET_PATH_BYTES ? short : join('/tmp', name)
}

export const socketLock = (folder: DataFolder): string => `${socketFolder(folder)}${SOCKET_NAME}.lock`

/** Everyone who can enter the socket folder is database superuser, so others must neither own nor enter it. */
export async function openSocketFolder(
  folder: DataFolder,
  account: { owner: { uid: number; gid: number } | undefined },
): Promise<string> {
  const path = socketFolder(folder)
  if (path === folder.cluster) return path
  await mkdir(path, { mode: 0o700 }).catch((error) => {
    if (codeOf(error) !== 'EEXIST') throw unusableFolder(path, error)
  })
  const found = await lstat(path)
  const uid = process.getuid?.() ?? 0
  const ours = found.uid === uid || found.uid === account.owner?.uid
  if (!found.isDirectory() || !ours || (found.mode & 0o077) !== 0) {
    throw new StartError(`${path} is not a folder of this user's alone: remove it, or set DATA_DIR to a shorter path`)
  }
  if (account.owner && uid === 0) await chown(path, account.owner.uid, account.owner.gid)
  return path
}

export async function closeSocketFolder(folder: DataFolder): Promise<void> {
  const path = socketFolder(folder)
  if (path !== folder.cluster) await rmdir(path).catch(() => {})
}
