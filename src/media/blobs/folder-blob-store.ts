import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { makeWritableFolder, takesNoFiles, unusableFolder } from '../../files/writable-folder.ts'
import { writeMeasured } from '../measure.ts'
import { type BlobStore, isStorageKey } from './blob-store.ts'

/** An unfinished file of this age was abandoned: every copy is shorter. */
const ABANDONED_AFTER_MS = 60 * 60 * 1_000

/**
 * Keeps media in a folder, which every process of the service has to share. A file is written beside the others under a
 * temporary name, synced to the disk, and then renamed to its final name. Unfinished files of killed processes are
 * deleted here, at the start.
 *
 * @throws UnusableFolder, also from `put` when the disk is full or read-only
 */
export async function openFolderBlobStore(path: string, now: Date): Promise<BlobStore> {
  const folder = resolve(path)
  const unfinished = join(folder, 'unfinished')
  for (const place of [folder, unfinished]) await makeWritableFolder(place)
  await clearAbandoned(unfinished, now)
  return {
    put: async (key, body, { maxBytes }) => {
      const target = pathOf(folder, key)
      const temporary = join(unfinished, randomBytes(12).toString('hex'))
      try {
        const file = createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true })
        const measured = await writeMeasured(body, file, maxBytes)
        await mkdir(dirname(target), { recursive: true, mode: 0o700 })
        await rename(temporary, target)
        await syncFolders(folder, target)
        return measured
      } catch (error) {
        throw takesNoFiles(error) ? unusableFolder(folder, error) : error
      } finally {
        await rm(temporary, { force: true })
      }
    },
    open: (key, range) => openFile(pathOf(folder, key), range ?? {}),
    remove: (key) => rm(pathOf(folder, key), { force: true }),
  }
}

/** Two levels of 256 folders each, since a folder of a million files is slow everywhere. */
function pathOf(folder: string, key: string): string {
  if (!isStorageKey(key)) throw new Error('This is no storage key')
  const random = key.slice(key.indexOf('-') + 1)
  return join(folder, random.slice(0, 2), random.slice(2, 4), key)
}

/** A name survives a power failure once its folder has reached the disk; the folders above may be new, too. */
async function syncFolders(folder: string, path: string): Promise<void> {
  for (let place = dirname(path); place.length >= folder.length; place = dirname(place)) {
    const handle = await open(place, 'r')
    await handle.sync().finally(() => handle.close())
  }
}

async function openFile(path: string, range: { start?: number; end?: number }): Promise<Readable | undefined> {
  try {
    const file = await open(path, 'r')
    return file.createReadStream(range)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function clearAbandoned(unfinished: string, now: Date): Promise<void> {
  for (const name of await readdir(unfinished)) {
    const path = join(unfinished, name)
    // Another process may be clearing at the same time.
    const modifiedMs = await stat(path).then(
      (found) => found.mtimeMs,
      () => now.getTime(),
    )
    if (now.getTime() - modifiedMs > ABANDONED_AFTER_MS) await rm(path, { force: true })
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
