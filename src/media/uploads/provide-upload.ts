import type { Db } from '../../db/connect.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { createCache } from '../../platform/cache.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { failed } from '../../providers/graph-answer.ts'
import type { Fetched, MediaFile, ProviderError, Providers, SenderAccess } from '../../providers/provider.ts'
import type { ProviderName } from '../../providers/provider-name.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type FileKind, kindOf } from './file-type.ts'
import { findStoredUpload, findUpload, saveUploadCopy, type Upload } from './upload-store.ts'

/** Providers keep uploads for 30 days; older copies are uploaded again, so that none expires before sending. */
const COPY_DAYS = 25
const TTL_MS = 3_000
const MAX_FILES = 5_000

export type ProvidedFile = {
  mediaId: string
  kind: FileKind
  mimeType: string
  filename: string | null
  providerMediaId: string
}

export type Provision =
  | { kind: 'provided'; file: ProvidedFile }
  | { kind: 'missing' }
  | { kind: 'mismatch'; fileKind: FileKind }
  | { kind: 'refused' | 'unavailable'; error: ProviderError }
  | { kind: 'throttled'; retryAfterSeconds: number }

export type ProvideUpload = (
  companyId: number,
  sender: SenderAccess & { readonly id: number; readonly provider: ProviderName },
  asked: { mediaId: string; messageType: FileKind },
) => Promise<Provision>

type ProvideDeps = { db: Db; blobStore: BlobStore; providers: Providers }

/** Finds a file and uploads it to the sender's provider unless already there. Concurrent sends share the call. */
export function createProvideUpload(deps: ProvideDeps): ProvideUpload {
  const provisions = createCache<string, Promise<Provision>>({
    name: 'provided_uploads',
    max: MAX_FILES,
    ttlMs: TTL_MS,
  })
  return async (companyId, sender, { mediaId, messageType }) => {
    const key = JSON.stringify([companyId, sender.id, mediaId, messageType])
    const provision = await provisions.get(key, () => provide(deps, companyId, sender, mediaId, messageType))
    if (provision.kind !== 'provided') provisions.drop(key)
    return provision
  }
}

async function provide(
  deps: ProvideDeps,
  companyId: number,
  sender: Parameters<ProvideUpload>[1],
  mediaId: string,
  messageType: FileKind,
): Promise<Provision> {
  const upload = await withTimeout(findUpload(deps.db, companyId, sender.id, mediaId, COPY_DAYS))
  if (upload === undefined) return { kind: 'missing' }
  const { mimeType, filename, providerMediaId } = upload
  const fileKind = kindOf(mimeType)
  // Any file can be sent as a document.
  if (messageType !== fileKind && messageType !== 'document') return { kind: 'mismatch', fileKind }
  const file = { mediaId, kind: fileKind, mimeType, filename }
  if (providerMediaId !== null) return { kind: 'provided', file: { ...file, providerMediaId } }
  const copied = await copyToProvider(deps, sender, upload)
  if (copied.kind === 'failed') return toFailure(copied)
  const copy = { uploadId: mediaId, senderId: sender.id, providerMediaId: copied.value }
  await withTimeout(saveUploadCopy(deps.db, companyId, copy))
  return { kind: 'provided', file: { ...file, providerMediaId: copied.value } }
}

async function copyToProvider(
  { providers, blobStore }: ProvideDeps,
  sender: Parameters<ProvideUpload>[1],
  { storageKey, sizeBytes, mimeType }: Upload,
): Promise<Fetched<string>> {
  const provider = providers[sender.provider]
  if (provider === undefined) return failed(`no adapter for the provider ${sender.provider}`)
  const body = await blobStore.open(storageKey)
  if (body === undefined) throw new StorageFailure(new Error('the file is missing'))
  try {
    const copied = await provider.uploadMedia(sender, { body, sizeBytes, mimeType })
    if (copied.kind === 'failed' && body.errored) throw body.errored
    return copied
  } finally {
    body.destroy()
  }
}

function toFailure({ isRefused, retryAfterSeconds, error }: Extract<Fetched<string>, { kind: 'failed' }>): Provision {
  if (retryAfterSeconds !== null) return { kind: 'throttled', retryAfterSeconds }
  return { kind: isRefused ? 'refused' : 'unavailable', error }
}

/** Opens an upload, which the caller must read to the end or destroy. @throws {StorageFailure} */
export async function openUpload(
  { db, blobStore }: { db: Db; blobStore: BlobStore },
  companyId: number,
  mediaId: string,
): Promise<{ kind: FileKind; file: MediaFile } | undefined> {
  const upload = await withTimeout(findStoredUpload(db, companyId, mediaId))
  if (upload === undefined) return undefined
  const body = await blobStore.open(upload.storageKey)
  if (body === undefined) throw new StorageFailure(new Error('the file is missing'))
  const { mimeType, sizeBytes } = upload
  return { kind: kindOf(mimeType), file: { body, sizeBytes, mimeType } }
}
