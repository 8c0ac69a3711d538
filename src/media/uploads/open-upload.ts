import type { Db } from '../../db/connect.ts'
import { withTimeout } from '../../http/errors/database-timeout.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import type { MediaFile } from '../../providers/provider.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type FileKind, kindOf } from './file-type.ts'
import { findStoredUpload } from './upload-store.ts'

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
