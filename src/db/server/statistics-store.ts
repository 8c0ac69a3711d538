import type { Db } from '../connect.ts'

/** Analyzes tables that have grown tenfold; returns how many. */
export async function analyzeGrownTables(db: Db): Promise<number> {
  const [row] = await db<[{ analyzed: number }]>`select analyze_grown_tables() as analyzed`
  return row.analyzed
}
