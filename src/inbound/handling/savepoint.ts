import type { Db } from '../../db/connect.ts'

/** Runs statements whose failure must not abort the transaction. */
export async function savepoint<T>(tx: Db, run: (inner: Db) => Promise<T>): Promise<T> {
  if (!('savepoint' in tx)) throw new Error('A savepoint needs a transaction')
  return tx.savepoint(run) as Promise<T>
}
