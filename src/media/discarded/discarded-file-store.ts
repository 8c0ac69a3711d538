import { Gauge, type Registry } from 'prom-client'
import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import type { BlobStore } from '../blobs/blob-store.ts'

type DiscardedFile = { companyId: number; storageKey: string }

const FIRST_RETRY_SECONDS = 30
const LONGEST_RETRY_SECONDS = 3_600
const MAX_DOUBLINGS = 7

/** Queues files for deletion. Must run in the transaction that removes the last reference. */
export async function discardFiles(tx: Db, companyId: number, storageKeys: readonly string[]): Promise<void> {
  if (storageKeys.length === 0) return
  await tx`
    insert into discarded_files (company_id, storage_key)
    select distinct ${companyId}::bigint, storage_key
    from unnest(${[...storageKeys]}::text[]) as storage_key
    on conflict do nothing
  `
}

/** Claims up to `limit` due files and schedules their retry, which `forgetDiscarded` cancels. */
function claimDiscarded(db: Db, limit: number, companyId?: number): Promise<DiscardedFile[]> {
  return db<DiscardedFile[]>`
    update discarded_files file
    set
      attempts = file.attempts + 1,
      due_at = now() + make_interval(secs => least(
        ${FIRST_RETRY_SECONDS} * 2 ^ least(file.attempts, ${MAX_DOUBLINGS}), ${LONGEST_RETRY_SECONDS}
      ))
    where (file.company_id, file.storage_key) in (
      select due.company_id, due.storage_key
      from discarded_files due
      where due.due_at <= now() ${companyId === undefined ? sql`` : sql`and due.company_id = ${companyId}`}
      order by due.due_at
      limit ${limit}
      for update skip locked
    )
    returning file.company_id, file.storage_key
  `
}

async function forgetDiscarded(db: Db, files: readonly DiscardedFile[]): Promise<void> {
  if (files.length === 0) return
  await db`
    delete from discarded_files file
    using ${inputRows(files, { bigint: ['companyId'], text: ['storageKey'] })}
    where (file.company_id, file.storage_key) = (input.company_id, input.storage_key)
  `
}

/** Counts files whose deletion failed at least once. */
async function countUndeleted(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from discarded_files where attempts > 0
  `
  return row?.count ?? 0
}

/** Returns whether deletions are pending or running for the company. */
export async function hasDiscarded(db: Db, companyId: number): Promise<boolean> {
  const rows = await db`select from discarded_files where company_id = ${companyId} limit 1`
  return rows.length > 0
}

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
