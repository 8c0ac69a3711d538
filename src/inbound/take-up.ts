import type { Db } from '../db/connect.ts'
import { acceptBodies } from './accept.ts'
import { type TakenUp, takeFailed, takeRoutable, takeUnroutable, type Waited } from './item-store.ts'

/**
 * Puts the events that waited for a number, its account or its app, back among those to be handled: in the transaction
 * that connects the number.
 */
export async function takeUpEvents(tx: Db, _companyId: number, sender: Waited): Promise<void> {
  const taken = await takeUnroutable(tx, sender)
  await requeue(tx, taken)
}

/**
 * The same for what was set aside while its number was being connected, which that transaction could not see. Answers
 * how many events there were.
 */
export async function takeUpLatecomers(tx: Db): Promise<number> {
  const taken = await takeRoutable(tx)
  await requeue(tx, taken)
  return taken.length
}

/** Puts one failed item back; false when there is none of that id. */
export async function retryFailed(tx: Db, id: number): Promise<boolean> {
  const taken = await takeFailed(tx, id)
  if (taken === undefined) return false
  await requeue(tx, [taken])
  return true
}

async function requeue(tx: Db, items: readonly TakenUp[]): Promise<void> {
  if (items.length > 0)
    await acceptBodies(
      tx,
      items.map((item) => ({ ...item, proof: null, address: null })),
    )
}
