import type { Db } from '../src/db/connect.ts'
import { type ExpiryBatch, expireRows, listExpiring } from '../src/db/lifetime-store.ts'
import { type LifetimeDeps, listLifetimes } from '../src/personal-data/lifetimes/lifetimes.ts'

const { signal } = new AbortController()

/** Runs each step of expiry once, as the sweeps of a worker do. */
export async function expireAll(deps: LifetimeDeps): Promise<void> {
  // What a step discards is deleted by a later one.
  for (const { expire } of [...listLifetimes(deps), ...listLifetimes(deps)]) await expire(signal)
}

/** Runs one step of expiry. */
export async function expireOne(deps: LifetimeDeps, name: string): Promise<void> {
  const lifetime = listLifetimes(deps).find((one) => one.name === name)
  if (lifetime === undefined) throw new Error(`No lifetime is called ${name}`)
  await lifetime.expire(signal)
}

export const ALL: ExpiryBatch = { limit: 1_000, skip: 0 }

/** Deletes rows of a table that are deleted by their age alone; returns how many. */
export async function expireTable(db: Db, table: string, limit = ALL.limit): Promise<number> {
  const expiring = listExpiring({ messageDays: undefined, deliveryLogDays: 30 }).find((one) => one.table === table)
  if (expiring === undefined) throw new Error(`Rows of ${table} are not deleted by their age`)
  return expireRows(db, expiring, { ...ALL, limit })
}
