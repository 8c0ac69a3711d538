import type { Pool } from '../../../src/db/connect.ts'

/** The database of a run, and what the run itself asks it. */
export type Database = {
  /** All its servers; sessions go to the one that takes writes. */
  url: string
  /** A connection to the present primary. */
  ask<T extends readonly object[]>(query: (db: Pool) => Promise<T>): Promise<T>
  /** How many writes a former primary acknowledged that the present one does not have. */
  lostWrites(): Promise<number>
  stop(): Promise<void>
}
