import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { type BlobStore, isStorageKey } from '../media/blobs/blob-store.ts'
import { type Entry, MoveRefused } from './transfer-file.ts'

const MAX_BLOB_BYTES = 1024 ** 3

type Options = {
  companyId: number
  /** Notes a key before its file is stored. */
  note: (storageKey: string) => Promise<void>
}

/** Stores the files whose pieces it gets, one after another, without holding a whole one. */
export function createBlobs(store: BlobStore, { companyId, note }: Options) {
  let open: { body: PassThrough; stored: Promise<unknown> } | undefined
  const start = async (blob: string, mimeType: string) => {
    if (!isStorageKey(blob)) throw new MoveRefused('The archive has a file with an invalid name')
    // The name of a file starts with its company: no file of another one is replaced.
    if (!blob.startsWith(`${companyId}-`)) throw new MoveRefused(`The file names ${blob}, which is of another company`)
    await note(blob)
    const body = new PassThrough()
    const stored = store.put(blob, body, { mimeType, maxBytes: MAX_BLOB_BYTES })
    stored.catch((error) => body.destroy(error))
    body.on('error', () => {})
    return { body, stored }
  }
  return {
    /** @throws what the store throws, also between two pieces */
    add: async ({ blob, mimeType, piece }: Extract<Entry, { blob: string }>) => {
      open ??= await start(blob, mimeType)
      const { body, stored } = open
      if (piece === '') {
        open = undefined
        body.end()
        await stored
      } else if (!body.write(Buffer.from(piece, 'base64'))) await Promise.race([once(body, 'drain'), stored])
    },
    /** Ends a file whose last piece will not come. */
    abort: async () => {
      open?.body.destroy(new Error('The import has ended'))
      await open?.stored.catch(() => {})
    },
  }
}
