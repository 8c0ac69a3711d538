import type { Db, Pool, Result, Rows } from '../db/connect.ts'

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
   * nothing. `runAll` runs the statements of each company; by default without pauses, since companies may share the transaction.
   */
  publish(tx: Db, changes: readonly RecordChange[], runAll?: RunAll): Promise<void>
}

/** Runs a company's statements one after another. */
export type RunAll = (companyId: number, statements: readonly (() => Promise<unknown>)[]) => Promise<void>

/** For work whose events no receiver can subscribe to. */
export const NO_EVENTS: RecordEvents = { isSubscribed: () => false, publish: async () => {} }

/** A write of one statement, which needs no transaction of its own, and what finds the changes that it makes. */
export type ReportedWrite<T extends readonly unknown[]> = {
  write: (db: Db) => Result<T>
  /** Called before the write; its result, afterwards, returns the changes. */
  watch: (tx: Db) => Promise<() => Promise<readonly RecordChange[]>>
}

/** Writes, in a transaction together with the events of its changes where a registration subscribes to them, else alone. */
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
