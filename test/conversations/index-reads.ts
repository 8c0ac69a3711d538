import type { Pool } from '../../src/db/connect.ts'

/** How many entries of the table's indexes are read while the work is done on this session, with one connection. */
export async function countIndexReads(session: Pool, table: string, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await session`select pg_stat_force_next_flush()`
    const [row] = await session<{ read: number }[]>`
      select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = ${table}
    `
    return row!.read
  }
  const before = await read()
  await work()
  return (await read()) - before
}
