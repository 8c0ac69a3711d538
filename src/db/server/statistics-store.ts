import type { Db } from '../connect.ts'

/** Gathers the statistics of tables that have grown tenfold since the last ones; returns the number of tables. */
export async function analyzeGrownTables(db: Db): Promise<number> {
  const [row] = await db<[{ analyzed: number }]>`select analyze_grown_tables() as analyzed`
  return row.analyzed
}
