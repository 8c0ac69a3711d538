import type { Db, Pool, Result, Rows } from '../db/connect.ts'

/** Changes that receivers can subscribe to, by event name. Each file in webhooks/events/kinds/ extends this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: the kinds extend it.
export interface RecordChanges {}

export type RecordEventName = keyof RecordChanges
export type RecordChange = {
  [Name in RecordEventName]: { readonly event: Name; readonly companyId: number } & Readonly<RecordChanges[Name]>
}[RecordEventName]
export type ChangeOf<Name extends RecordEventName> = Extract<RecordChange, { event: Name }>

export type RecordEvents = {
  isSubscribed(event: RecordEventName, companyIds: Iterable<number>): boolean
  /** Writes the subscribed events in `tx`. `runAll` defaults to no pauses, since companies may share the transaction. */
  publish(tx: Db, changes: readonly RecordChange[], runAll?: RunAll): Promise<void>
}

export type RunAll = (companyId: number, statements: readonly (() => Promise<unknown>)[]) => Promise<void>

export const NO_EVENTS: RecordEvents = { isSubscribed: () => false, publish: async () => {} }

type ReportedWrite<T extends readonly unknown[]> = {
  write: (db: Db) => Result<T>
  /** Must be called before the write; the result returns the changes afterwards. */
  watch: (tx: Db) => Promise<() => Promise<readonly RecordChange[]>>
}

/** Runs the write; opens a transaction only if a registration subscribes to the event. */
export function writeWithEvents<T extends readonly unknown[]>(
  { db, events }: { db: Pool; events: RecordEvents },
  event: RecordEventName,
  companyIds: Iterable<number>,
  { write, watch }: ReportedWrite<T>,
): Promise<Rows<T>> {
  if (!events.isSubscribed(event, companyIds)) return write(db)
  return db.begin(async (tx) => {
    const changesSince = await watch(tx)
    const rows = await write(tx)
    await events.publish(tx, await changesSince())
    return rows
  })
}
