import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { type BlobStore, isStorageKey } from '../media/blobs/blob-store.ts'
import { type Entry, MoveRefused } from './transfer-file.ts'

const MAX_BLOB_BYTES = 1024 ** 3

type Options = {
  companyId: number
  /** Must run before the file is stored. */
  note: (storageKey: string) => Promise<void>
}

/** Stores files piece by piece, without buffering a whole file. */
export function createBlobs(store: BlobStore, { companyId, note }: Options) {
  let open: { body: PassThrough; stored: Promise<unknown> } | undefined
  const start = async (blob: string, mimeType: string) => {
    if (!isStorageKey(blob)) throw new MoveRefused('The archive has a file with an invalid name')
    // File names start with the company id, so no import can replace foreign files.
    if (!blob.startsWith(`${companyId}-`)) throw new MoveRefused(`The file names ${blob}, which is of another company`)
    await note(blob)
    const body = new PassThrough()
    const stored = store.put(blob, body, { mimeType, maxBytes: MAX_BLOB_BYTES })
    stored.catch((error) => body.destroy(error))
    body.on('error', () => {})
    return { body, stored }
  }
  return {
    add: async ({ blob, mimeType, piece }: Extract<Entry, { blob: string }>) => {
      open ??= await start(blob, mimeType)
      const { body, stored } = open
      if (piece === '') {
        open = undefined
        body.end()
        await stored
      } else if (!body.write(Buffer.from(piece, 'base64'))) await Promise.race([once(body, 'drain'), stored])
    },
    abort: async () => {
      open?.body.destroy(new Error('The import has ended'))
      await open?.stored.catch(() => {})
    },
  }
}
