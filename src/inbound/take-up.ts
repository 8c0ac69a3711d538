import type { Db } from '../db/connect.ts'
import { acceptBodies } from './accept.ts'
import { takeFailed, takeUnroutable, type Waited } from './item-store.ts'

/**
 * Puts the events that waited for a number, its account or its app, back among those to be handled: in the transaction
 * that connects the number.
 */
export async function takeUpEvents(tx: Db, _companyId: number, sender: Waited): Promise<void> {
  const bodies = await takeUnroutable(tx, sender)
  if (bodies.length > 0) await acceptBodies(tx, bodies)
}

/** Puts one failed item back; false when there is none of that id. */
export async function retryFailed(tx: Db, id: number): Promise<boolean> {
  const body = await takeFailed(tx, id)
  if (body === undefined) return false
  await acceptBodies(tx, [body])
  return true
}
