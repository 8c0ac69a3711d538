import type { Pool } from '../../db/connect.ts'
import type { ExpiryBatch } from '../../db/lifetime-store.ts'
import { deleteUploads, keepCarried, lockDueUploads } from './upload-store.ts'

/** Discards due uploads without a message, for one company or all; returns how many were due. */
export const expireUploads = (db: Pool, batch: ExpiryBatch, companyId?: number): Promise<number> =>
  db.begin(async (tx) => {
    const due = await lockDueUploads(tx, batch, companyId)
    if (due.length === 0) return 0
    // Must run after the locks: a message being written keeps its file.
    const unused = await keepCarried(tx, due)
    if (unused.length > 0) await deleteUploads(tx, unused)
    return due.length
  })
