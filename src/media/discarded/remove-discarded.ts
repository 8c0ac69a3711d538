import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../../db/connect.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { claimDiscarded, countUndeleted, forgetDiscarded } from './discarded-file-store.ts'

export type RemoveDeps = { db: Db; blobStore: Pick<BlobStore, 'remove'> }

/** Files that one claim takes, all of them deleted at once. */
const AT_ONCE = 16

/**
 * Deletes the discarded files that are due, of one company or of all, until the signal is aborted. Must run outside of a
 * transaction: it waits for the media storage. Stops at a batch of which nothing could be deleted.
 * @throws the first failure, after the other files; what failed waits in the queue
 */
export async function removeDiscarded(
  { db, blobStore }: RemoveDeps,
  signal: AbortSignal,
  companyId?: number,
): Promise<void> {
  const failures: unknown[] = []
  while (!signal.aborted) {
    const files = await claimDiscarded(db, AT_ONCE, companyId)
    const outcomes = await Promise.allSettled(files.map(({ storageKey }) => blobStore.remove(storageKey)))
    failures.push(...outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])))
    const removed = files.filter((_, place) => outcomes[place]?.status === 'fulfilled')
    await forgetDiscarded(db, removed)
    if (files.length < AT_ONCE || removed.length === 0) break
  }
  if (failures.length > 0) throw failures[0]
}

/** Registers the number of files that could not be deleted, read from the database once per scrape. */
export function registerUndeletedGauge(registry: Registry, db: Db): void {
  new Gauge({
    name: 'parley_undeleted_files',
    help: 'Files that nothing leads to any more and that the media storage failed to delete; they are tried again',
    registers: [registry],
    aggregator: 'max',
    async collect() {
      this.set(await countUndeleted(db))
    },
  })
}
