import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { diskCall, fileGone } from '../../platform/files/storage-failure.ts'
import { openTemporaryFiles } from '../../platform/files/temporary-files.ts'
import { makeWritableFolder, takesNoFiles, unusableFolder } from '../../platform/files/writable-folder.ts'
import { keepMeasured } from '../measure.ts'
import { type BlobStore, type ByteRange, isStorageKey } from './blob-store.ts'

const PART_BYTES = 64 * 1024

/** Opens a folder, which all processes must share. @throws UnusableFolder, also from `put` on a full disk */
export async function openFolderBlobStore(path: string): Promise<BlobStore> {
  const folder = resolve(path)
  await makeWritableFolder(folder)
  const temporary = await openTemporaryFiles(join(folder, 'unfinished'))
  return {
    put: (key, body, meta) => {
      const target = pathOf(folder, key)
      const keep = (path: string) => diskCall(() => moveTo(folder, path, target))
      return keepMeasured(temporary, body, meta, keep).catch((error: unknown) => {
        throw takesNoFiles(error) ? unusableFolder(folder, error) : error
      })
    },
    open: (key, range) => openFile(pathOf(folder, key), range),
    has: (key) => {
      const target = pathOf(folder, key)
      return diskCall(async () => (await stat(target).catch(ignoreMissing)) !== undefined)
    },
    remove: (key) => {
      const target = pathOf(folder, key)
      return diskCall(() => rm(target, { force: true }))
    },
  }
}

async function moveTo(folder: string, path: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await rename(path, target)
  await syncFolders(folder, target)
}

/** Two levels with 256 folders each; a folder with a million files would be slow. */
function pathOf(folder: string, key: string): string {
  if (!isStorageKey(key)) throw new Error('Not a storage key')
  const random = key.slice(key.indexOf('-') + 1)
  return join(folder, random.slice(0, 2), random.slice(2, 4), key)
}

/** A rename survives power loss only after its folder is synced; parent folders may be new too. */
async function syncFolders(folder: string, path: string): Promise<void> {
  for (let place = dirname(path); place.length >= folder.length; place = dirname(place)) {
    const handle = await open(place, 'r')
    await handle.sync().finally(() => handle.close())
  }
}

async function openFile(path: string, range: ByteRange | undefined): Promise<Readable | undefined> {
  const start = range?.start ?? 0
  const end = range === undefined ? Number.POSITIVE_INFINITY : range.end + 1
  const first = await readPart(path, start, end)
  return first && Readable.from(partsOf(path, first, start, end), { objectMode: false, highWaterMark: PART_BYTES })
}

async function* partsOf(path: string, first: Buffer, start: number, end: number): AsyncGenerator<Buffer> {
  let at = start
  for (let part: Buffer | undefined = first; part !== undefined && part.length > 0; ) {
    at += part.length
    yield part
    if (at >= end) return
    part = await readPart(path, at, end)
    if (part === undefined) throw fileGone()
  }
}

/** Opens the file per part, so that a stalled reader holds no descriptor. */
const readPart = (path: string, at: number, end: number): Promise<Buffer | undefined> =>
  diskCall(async () => {
    const file = await open(path, 'r').catch(ignoreMissing)
    try {
      const length = Math.min(PART_BYTES, end - at)
      const { bytesRead, buffer } = (await file?.read(Buffer.allocUnsafe(length), 0, length, at)) ?? {}
      return buffer?.subarray(0, bytesRead)
    } finally {
      await file?.close()
    }
  })

function ignoreMissing(error: unknown): undefined {
  const isMissing = error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
  if (!isMissing) throw error
}
