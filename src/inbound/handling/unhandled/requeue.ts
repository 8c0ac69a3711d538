import type { Db } from '../../../db/connect.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'
import { acceptBodies } from '../../ingest/accept.ts'
import { openSecrets } from '../../ingest/secret-cache.ts'
import { isProven, type RequiredSecrets } from '../../ingest/signature.ts'
import { listWaitingBodies } from '../bodies/body-store.ts'
import { findSecretsOf } from '../routing/routing-store.ts'
import {
  listAwaitedSenders,
  markUnverified,
  type RequeuedItem,
  removeFailed,
  removeUnroutable,
  removeVerified,
  type Waited,
} from './dead-letter-store.ts'

export type RequeueDeps = { decrypt: (sealed: string) => string; events: Pick<EventReader, 'routeKeys'> }

/**
 * Requeues the items that waited for a number, its account or its app: in the transaction that connects the number or
 * changes its secrets. For a number with an app secret or webhook secret only items of bodies that prove these secrets
 * are requeued; the others become `unverified` and are tried again when the secrets change. Returns how many items were
 * requeued. `only`: the ids of the items to look at, `unverified` ones included; absent: all.
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

/**
 * The same for items that became unroutable while their number was being connected, which that transaction could not
 * see.
 */
export async function requeueMissedEvents(deps: RequeueDeps, tx: Db): Promise<number> {
  let count = 0
  for (const sender of await listAwaitedSenders(tx)) count += await requeueEvents(deps, tx, sender.companyId, sender)
  return count
}

/** Requeues those of these items that connected numbers, accounts and apps want, and that prove their secrets. */
export async function requeueWanted(deps: RequeueDeps, tx: Db, ids: readonly number[]): Promise<number> {
  let count = 0
  for (const sender of await listAwaitedSenders(tx, ids))
    count += await requeueEvents(deps, tx, sender.companyId, sender, ids)
  return count
}

/** Requeues one failed item; false if no item has this id. */
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

/** Queues items that have been removed from the dead letters; returns how many. */
export async function requeueItems(
  deps: Pick<RequeueDeps, 'events'>,
  tx: Db,
  items: readonly RequeuedItem[],
): Promise<number> {
  const arrivals = items.map((item) => ({ ...item, proof: null, address: null }))
  if (arrivals.length > 0) await acceptBodies(tx, deps.events, arrivals)
  return arrivals.length
}
