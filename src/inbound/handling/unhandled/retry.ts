import type { Pool } from '../../../db/connect.ts'
import { type RequeueDeps, requeueItems, requeueWanted } from './requeue.ts'
import { type IdWindow, lastItemId, listWanted, type RetryFilter, removeMatching } from './retry-store.ts'

const BATCH = 100

type RetryRequest = RetryFilter & { limit: number }

/** Requeues matching items, oldest first, each batch in one transaction; returns the count. */
export const retryAllFailed = (
  deps: Pick<RequeueDeps, 'events'>,
  db: Pool,
  request: RetryRequest,
  onQueued: () => void,
): Promise<number> =>
  inBatches(db, request.limit, async (window) => {
    const items = await db.begin(async (tx) => {
      const removed = await removeMatching(tx, request, window)
      await requeueItems(deps, tx, removed)
      return removed
    })
    if (items.length > 0) onQueued()
    return { ids: items.map(({ id }) => id), count: items.length }
  })

/** Requeues unroutable and unverified items that a connected number wants and that prove its secrets. */
export const retryAllUnroutable = (
  deps: RequeueDeps,
  db: Pool,
  request: RetryRequest,
  onQueued: () => void,
): Promise<number> =>
  inBatches(db, request.limit, async (window) => {
    const ids = await listWanted(db, request, window)
    const count = ids.length === 0 ? 0 : await db.begin((tx) => requeueWanted(deps, tx, ids))
    if (count > 0) onQueued()
    return { ids, count }
  })

async function inBatches(
  db: Pool,
  most: number,
  retry: (window: IdWindow) => Promise<{ ids: readonly number[]; count: number }>,
): Promise<number> {
  const last = await lastItemId(db)
  let [after, tried, count] = [0, 0, 0]
  while (tried < most) {
    const batch = await retry({ after, last, limit: Math.min(BATCH, most - tried) })
    count += batch.count
    tried += batch.ids.length
    const end = batch.ids.at(-1)
    if (end === undefined) break
    after = end
  }
  return count
}
