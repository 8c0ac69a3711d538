import type { Readable } from 'node:stream'
import type { Db, Pool } from '../../db/connect.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { payloadTooLarge, rateLimitExceeded, validationError } from '../../platform/errors.ts'
import { newMediaId } from '../../platform/ids.ts'
import { type BlobStore, newStorageKey } from '../blobs/blob-store.ts'
import { TooLarge } from '../measure.ts'
import { decideFile, type FileFacts, type FileKind, MAX_FILE_BYTES, readFileFacts } from './file-type.ts'
import { completeUpload, deleteUpload, insertUpload, readUnsent } from './upload-store.ts'

export const UNSENT_DAYS = 30
/** Limits for files without a message, per company. */
const MAX_UNSENT_FILES = 1_000
const MAX_UNSENT_BYTES = 2 * 1024 ** 3
/** Concurrent uploads, per company and per process. */
const MAX_ARRIVING = 4
const MAX_ARRIVING_IN_PROCESS = 32

export type UploadDeps = { db: Pool; blobStore: BlobStore }

export type ReceivedFile = { id: string; storageKey: string; sizeBytes: number; sha256: string; facts: FileFacts }

export type TakenFile = {
  mediaId: string
  kind: FileKind
  mimeType: string
  filename: string | null
  sizeBytes: number
  expiresAt: Date
}

type Arrivals = { take(companyId: number): () => void }

/** @throws {AppError} from `take`: 429 when too many uploads are running for the company or in total */
export function createArrivals(): Arrivals {
  const open = new Map<number, number>()
  let total = 0
  return {
    take: (companyId) => {
      const own = open.get(companyId) ?? 0
      if (own >= MAX_ARRIVING || total >= MAX_ARRIVING_IN_PROCESS) {
        throw rateLimitExceeded(1, 'Too many files are being uploaded at the same time')
      }
      open.set(companyId, own + 1)
      total += 1
      return () => {
        total -= 1
        const left = (open.get(companyId) ?? 1) - 1
        if (left === 0) open.delete(companyId)
        else open.set(companyId, left)
      }
    },
  }
}

/**
 * Stores an upload. The caller must take or discard the file; after a crash a sweep deletes it.
 * @throws {AppError} 413 above the largest size for any kind, 422 with too many unsent files, 429; 503 if the database
 * does not answer
 */
export async function receiveFile(
  deps: UploadDeps,
  arrivals: Arrivals,
  companyId: number,
  body: Readable,
): Promise<ReceivedFile> {
  const release = arrivals.take(companyId)
  try {
    const { files, bytes } = await withTimeout(readUnsent(deps.db, companyId))
    if (files >= MAX_UNSENT_FILES || bytes >= MAX_UNSENT_BYTES) throw tooManyUnsent()
    return await storeFile(deps, companyId, body)
  } finally {
    release()
    // Some clients read the response only after sending the whole body.
    body.resume()
  }
}

const tooManyUnsent = () =>
  validationError([
    {
      path: 'body',
      message: `cannot be kept: at most ${MAX_UNSENT_FILES} files with ${MAX_UNSENT_BYTES} bytes in all may wait to be sent; each is deleted ${UNSENT_DAYS} days after its upload`,
    },
  ])

async function storeFile(deps: UploadDeps, companyId: number, body: Readable): Promise<ReceivedFile> {
  const file = { id: newMediaId(), storageKey: newStorageKey(companyId) }
  const discard = () => discardFile(deps, companyId, file)
  await withTimeout(insertUpload(deps.db, companyId, file.id, file.storageKey), discard)
  try {
    const reading = Promise.withResolvers<FileFacts>()
    const measured = await deps.blobStore.put(file.storageKey, body, {
      mimeType: 'application/octet-stream',
      maxBytes: MAX_FILE_BYTES.document,
      check: async (path, { sizeBytes }) => reading.resolve(await readFileFacts(path, sizeBytes)),
    })
    return { ...file, ...measured, facts: await reading.promise }
  } catch (error) {
    await withTimeout(discard()).catch(() => undefined)
    throw error instanceof TooLarge ? payloadTooLarge(MAX_FILE_BYTES.document) : error
  }
}

/** Detects the type. @throws {AppError} 422 with the reason WhatsApp rejects the file */
export function inspectFile({ facts }: ReceivedFile, filename: string | null): { mimeType: string; kind: FileKind } {
  const decision = decideFile(facts, filename)
  if ('fault' in decision) throw validationError([{ path: 'body', message: decision.fault }])
  return decision
}

/** Assigns a received file to the company; undefined if the sweep already deleted the file. */
export async function takeFile(
  tx: Db,
  companyId: number,
  { id, sizeBytes, sha256 }: ReceivedFile,
  { mimeType, kind, filename }: { mimeType: string; kind: FileKind; filename: string | null },
): Promise<TakenFile | undefined> {
  const expiresAt = await completeUpload(tx, companyId, { id, mimeType, filename, sizeBytes, sha256 }, UNSENT_DAYS)
  return expiresAt && { mediaId: id, kind, mimeType, filename, sizeBytes, expiresAt }
}

/** Discards a received file unless taken: an unconfirmed commit may have taken the file. */
export async function discardFile(
  { db }: Pick<UploadDeps, 'db'>,
  companyId: number,
  { id }: Pick<ReceivedFile, 'id'>,
): Promise<void> {
  await deleteUpload(db, companyId, id)
}
