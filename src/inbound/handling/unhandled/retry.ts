import type { Pool } from '../../../db/connect.ts'
import { type RequeueDeps, requeueItems, requeueWanted } from './requeue.ts'
import { type IdWindow, lastItemId, listWanted, type RetryFilter, removeMatching } from './retry-store.ts'

/** Items that one transaction tries again. */
const BATCH = 100

/** A filter, and how many items to try at most. */
type RetryRequest = RetryFilter & { limit: number }

/**
 * Requeues kept items that match, oldest first; returns how many. Each batch is removed and queued in one transaction, so that a
 * process that dies has tried each item once or not at all, and a repeated call goes on with the rest. `onQueued` is called
 * after each commit.
 */
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

/**
 * The same for items that no connected number wanted, or whose origin was not proven: those that a number wants by now, whose
 * secrets they prove. The others stay.
 */
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
  // Items that fail again get higher ids.
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
