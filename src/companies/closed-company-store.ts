import type { Db } from '../db/connect.ts'

/** The companies that are being moved to another installation, at most 10,000. */
export async function findClosedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies where closed_at is not null order by id limit 10000`
  return rows.map(({ id }) => id)
}
