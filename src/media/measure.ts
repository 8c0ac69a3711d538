import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { diskCall } from '../platform/files/storage-failure.ts'
import type { TemporaryFiles } from '../platform/files/temporary-files.ts'
import type { BlobMeta, Measured } from './blobs/blob-store.ts'

export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`There are more than ${maxBytes} bytes`)
    this.name = 'TooLarge'
  }
}

/** Bytes between syncs, so that no single sync takes long. */
const SYNC_BYTES = 8 * 1024 * 1024

/** Writes a stream to a temporary file for `check` and `keep`. @throws TooLarge, StorageFailure, their errors */
export function keepMeasured(
  temporary: TemporaryFiles,
  from: Readable,
  { maxBytes, check }: Pick<BlobMeta, 'maxBytes' | 'check'>,
  keep: (path: string, measured: Measured) => Promise<unknown>,
): Promise<Measured> {
  // The stream may fail before reading starts.
  from.on('error', () => undefined)
  return temporary.use(async (path) => {
    const measured = await writeMeasured(from, path, maxBytes)
    await check?.(path, measured)
    await keep(path, measured)
    return measured
  })
}

async function writeMeasured(from: Readable, path: string, maxBytes: number): Promise<Measured> {
  const file = await diskCall(
    () => open(path, 'wx', 0o600),
    (late) => late.close(),
  )
  const hash = createHash('sha256')
  let sizeBytes = 0
  let unsynced = 0
  try {
    if (from.errored) throw from.errored
    await pipeline(from, async (chunks: AsyncIterable<Buffer | string>) => {
      for await (const chunk of chunks) {
        const bytes = Buffer.from(chunk)
        sizeBytes += bytes.length
        if (sizeBytes > maxBytes) throw new TooLarge(maxBytes)
        hash.update(bytes)
        await diskCall(() => file.writeFile(bytes))
        unsynced += bytes.length
        if (unsynced < SYNC_BYTES) continue
        await diskCall(() => file.datasync())
        unsynced = 0
      }
    })
    await diskCall(() => file.sync())
    return { sizeBytes, sha256: hash.digest('hex') }
  } finally {
    closeUnawaited(file)
  }
}

/** A hanging disk must not block the caller. */
const closeUnawaited = (file: FileHandle): void => void file.close().catch(() => undefined)
