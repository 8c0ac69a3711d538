import type { Db, Pool } from '../../../db/connect.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import { acceptBodies } from '../../ingest/accept.ts'
import { isProven, openSecrets, type RequiredSecrets } from '../body-reader.ts'
import { findSecretsOf } from '../route-items.ts'
import { type IdWindow, lastItemId, listWanted, type RetryFilter, removeMatching } from './dead-letter-filter-store.ts'
import {
  listAwaitedSenders,
  listWaitingBodies,
  markUnverified,
  type RequeuedItem,
  removeFailed,
  removeUnroutable,
  removeVerified,
  type Waited,
} from './dead-letter-store.ts'

type RequeueDeps = { decrypt: (sealed: string) => string; events: Pick<EventReader, 'routeKeys'> }

/**
 * Requeues waiting items. Must run in the transaction that connects the number or changes its secrets. Items without
 * proof become `unverified` and are retried when secrets change. `only` selects ids, including `unverified` ones.
 */
export async function requeueEvents(
  deps: RequeueDeps,
  tx: Db,
  companyId: number,
  sender: AwaitedSender,
  only?: readonly number[],
): Promise<number> {
  const rows = await findSecretsOf(tx, [{ companyId, id: sender.id }])
  const required = openSecrets(rows, deps.decrypt).map((one) => [one])
  const hasSecret = rows.some(({ appSecret, webhookSecret }) => appSecret !== null || webhookSecret !== null)
  if (hasSecret) return requeueVerified(deps, tx, sender, required, only)
  return requeueItems(deps, tx, await removeUnroutable(tx, sender, only))
}

type AwaitedSender = Waited & { id: number }

/** Requeues items stored while their number was being connected, invisible to that transaction. */
export async function requeueMissedEvents(deps: RequeueDeps, tx: Db): Promise<number> {
  let count = 0
  for (const sender of await listAwaitedSenders(tx)) count += await requeueEvents(deps, tx, sender.companyId, sender)
  return count
}

/** Requeues selected items that connected senders want and whose proof holds. */
async function requeueWanted(deps: RequeueDeps, tx: Db, ids: readonly number[]): Promise<number> {
  let count = 0
  for (const sender of await listAwaitedSenders(tx, ids))
    count += await requeueEvents(deps, tx, sender.companyId, sender, ids)
  return count
}

/** Requeues a failed item; false if not found. */
export async function retryFailed(deps: Pick<RequeueDeps, 'events'>, tx: Db, id: number): Promise<boolean> {
  const taken = await removeFailed(tx, id)
  return taken !== undefined && (await requeueItems(deps, tx, [taken])) > 0
}

async function requeueVerified(
  deps: RequeueDeps,
  tx: Db,
  sender: Waited,
  required: RequiredSecrets,
  only: readonly number[] | undefined,
): Promise<number> {
  let count = 0
  let last = 0
  for (;;) {
    const bodies = await listWaitingBodies(tx, sender, last, only)
    const proven = bodies.filter((one) => one.body !== null && isProven(one.body, one, required))
    if (proven.length > 0) {
      const eventIds = proven.map(({ eventId }) => eventId)
      count += await requeueItems(deps, tx, await removeVerified(tx, sender, eventIds, only))
    }
    const end = bodies.at(-1)
    if (end === undefined) break
    last = end.eventId
  }
  await markUnverified(tx, sender, only)
  return count
}

/** Queues removed items; returns the count. */
async function requeueItems(
  deps: Pick<RequeueDeps, 'events'>,
  tx: Db,
  items: readonly RequeuedItem[],
): Promise<number> {
  const arrivals = items.map((item) => ({ ...item, proof: null, address: null }))
  if (arrivals.length > 0) await acceptBodies(tx, deps.events, arrivals)
  return arrivals.length
}

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
