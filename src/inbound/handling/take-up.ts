import type { Db } from '../../db/connect.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { acceptBodies } from '../ingest/accept.ts'
import { openSecrets } from '../ingest/secret-cache.ts'
import { isProven, type RequiredSecrets } from '../ingest/signature.ts'
import { listWaitingBodies } from './body-store.ts'
import {
  listAwaitedSenders,
  markUnverified,
  type TakenUp,
  takeFailed,
  takeUnroutable,
  takeVerified,
  type Waited,
} from './item-store.ts'
import { findSecretsOf } from './routing-store.ts'

export type TakeUpDeps = { decrypt: (sealed: string) => string; events: Pick<EventReader, 'routeKeys'> }

/**
 * Requeues the items that waited for a number, its account or its app: in the transaction that connects the number or
 * changes its secrets. For a number with an app secret or webhook secret only items of bodies that prove these secrets
 * are requeued; the others become `unverified` and are tried again when the secrets change. Returns how many items were
 * requeued.
 */
export async function takeUpEvents(
  deps: TakeUpDeps,
  tx: Db,
  companyId: number,
  sender: AwaitedSender,
): Promise<number> {
  const rows = await findSecretsOf(tx, [{ companyId, id: sender.id }])
  const required = openSecrets(rows, deps.decrypt)
  const hasSecret = required.appSecrets.length + required.webhookSecrets.length > 0
  return hasSecret ? takeUpVerified(deps, tx, sender, required) : requeue(deps, tx, await takeUnroutable(tx, sender))
}

type AwaitedSender = Waited & { id: number }

/**
 * The same for items that became unroutable while their number was being connected, which that transaction could not
 * see.
 */
export async function takeUpLatecomers(deps: TakeUpDeps, tx: Db): Promise<number> {
  let count = 0
  for (const sender of await listAwaitedSenders(tx)) count += await takeUpEvents(deps, tx, sender.companyId, sender)
  return count
}

/** Puts one failed item back; false when there is none of that id. */
export async function retryFailed(deps: Pick<TakeUpDeps, 'events'>, tx: Db, id: number): Promise<boolean> {
  const taken = await takeFailed(tx, id)
  return taken !== undefined && (await requeue(deps, tx, [taken])) > 0
}

async function takeUpVerified(deps: TakeUpDeps, tx: Db, sender: Waited, required: RequiredSecrets): Promise<number> {
  let count = 0
  let last = 0
  for (;;) {
    const bodies = await listWaitingBodies(tx, sender, last)
    const proven = bodies.filter((one) => one.body !== null && isProven(one.body, one, required))
    if (proven.length > 0) {
      const eventIds = proven.map(({ eventId }) => eventId)
      count += await requeue(deps, tx, await takeVerified(tx, sender, eventIds))
    }
    const end = bodies.at(-1)
    if (end === undefined) break
    last = end.eventId
  }
  await markUnverified(tx, sender)
  return count
}

async function requeue(deps: Pick<TakeUpDeps, 'events'>, tx: Db, items: readonly TakenUp[]): Promise<number> {
  const arrivals = items.map((item) => ({ ...item, proof: null, address: null }))
  if (arrivals.length > 0) await acceptBodies(tx, deps.events, arrivals)
  return arrivals.length
}
