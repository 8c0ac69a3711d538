import type { Db } from '../../db/connect.ts'
import { withTimeout } from '../../http/errors/database-timeout.ts'
import type { MediaFile } from '../../providers/provider.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { type FileKind, kindOf } from './file-type.ts'
import { findStoredUpload } from './upload-store.ts'

/** An uploaded file, to be read to its end or destroyed; undefined: the company has none of this id. */
export async function openUpload(
  { db, blobStore }: { db: Db; blobStore: BlobStore },
  companyId: number,
  mediaId: string,
): Promise<{ kind: FileKind; file: MediaFile } | undefined> {
  const upload = await withTimeout(findStoredUpload(db, companyId, mediaId))
  const body = upload && (await blobStore.open(upload.storageKey))
  if (upload === undefined || body === undefined) return undefined
  const { mimeType, sizeBytes } = upload
  return { kind: kindOf(mimeType), file: { body, sizeBytes, mimeType } }
}
