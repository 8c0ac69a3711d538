import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../../db/connect.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { claimDiscarded, countUndeleted, forgetDiscarded } from './discarded-file-store.ts'

export type RemoveDeps = { db: Db; blobStore: Pick<BlobStore, 'remove'> }

const AT_ONCE = 16

/**
 * Deletes due files until aborted or a whole batch fails. Must run outside any transaction because storage may be slow.
 * @throws the first failure, after trying the other files; failed files stay queued
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

/** Registers the gauge for failed deletions, read once per scrape. */
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
