import type { Pool } from '../../db/connect.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { deleteUploads, keepCarried, lockDueUploads } from './upload-store.ts'

/**
 * Deletes up to `limit` files that are due and that no message carries, of one company or of all; returns how many were due. The
 * bytes go first: a record that is deleted leads to none.
 */
export const removeDueUploads = (
  { db, blobStore }: { db: Pool; blobStore: Pick<BlobStore, 'remove'> },
  limit: number,
  companyId?: number,
): Promise<number> =>
  db.begin(async (tx) => {
    const due = await lockDueUploads(tx, limit, companyId)
    if (due.length === 0) return 0
    // Read after the locks: a message that is being written keeps its file.
    const unused = await keepCarried(tx, due)
    for (const { storageKey } of unused) await blobStore.remove(storageKey)
    if (unused.length > 0) await deleteUploads(tx, unused)
    return due.length
  })
