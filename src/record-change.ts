import type { Db, Pool } from './db/connect.ts'

/**
 * The changes of records that receivers may subscribe to, by the name of their event: ids, and the kind of change. Each file of
 * webhooks/events/kinds/ adds its own.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the kinds extend it.
export interface RecordChanges {}

export type RecordEventName = keyof RecordChanges
export type RecordChange = {
  [Name in RecordEventName]: { readonly event: Name; readonly companyId: number } & Readonly<RecordChanges[Name]>
}[RecordEventName]
export type ChangeOf<Name extends RecordEventName> = Extract<RecordChange, { event: Name }>

/** Makes events of changes for the receivers that subscribe to them. */
export type RecordEvents = {
  /** Whether a registration of one of the companies subscribes to the event. Reads memory only. */
  isSubscribed(event: RecordEventName, companyIds: Iterable<number>): boolean
  /**
   * Writes the events that registrations subscribe to, in the transaction that made the changes; without any, it does
   * nothing.
   */
  publish(tx: Db, changes: readonly RecordChange[]): Promise<void>
}

/** For work whose events no receiver can subscribe to. */
export const NO_EVENTS: RecordEvents = { isSubscribed: () => false, publish: async () => {} }

/**
 * Runs a write that reports its changes: in a transaction together with its events where a registration subscribes to
 * them, else alone, as one statement.
 */
export async function writeWithEvents<T>(
  { db, events }: { db: Pool; events: RecordEvents },
  event: RecordEventName,
  companyIds: Iterable<number>,
  write: (db: Db, isSubscribed: boolean) => Promise<{ result: T; changes: readonly RecordChange[] }>,
): Promise<T> {
  if (!events.isSubscribed(event, companyIds)) return (await write(db, false)).result
  const { result } = await db.begin(async (tx) => {
    const { result, changes } = await write(tx, true)
    await events.publish(tx, changes)
    return { result }
  })
  return result
}
