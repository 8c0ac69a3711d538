import { type Db, jsonRows } from '../../db/connect.ts'

export type UnhandledCount = { address: string; bytes: number; items: number }

/** Adds to each client's hourly count. Should be the last statement in a transaction, to keep row locks short. */
export async function countUnhandled(tx: Db, counts: readonly UnhandledCount[]): Promise<void> {
  if (counts.length === 0) return
  await tx`
    insert into unhandled_counts as existing (address, bytes, items, window_ends_at)
    select input.address, sum(input.bytes), sum(input.items), now() + interval '1 hour'
    from jsonb_to_recordset(${jsonRows(tx, counts)}) as input (address text, bytes bigint, items bigint)
    group by input.address
    order by input.address -- in one order for all transactions, so that none waits for another in a circle
    on conflict (address) do update set
      bytes = excluded.bytes + case when existing.window_ends_at > now() then existing.bytes else 0 end,
      items = excluded.items + case when existing.window_ends_at > now() then existing.items else 0 end,
      window_ends_at = case when existing.window_ends_at > now() then existing.window_ends_at else excluded.window_ends_at end
  `
}

const MOST_SPENT = 10_000

/** Lists clients over the limit and the seconds until their hour ends. */
export function listSpent(db: Db): Promise<{ address: string; seconds: number }[]> {
  return db<{ address: string; seconds: number }[]>`
    select address, ceil(extract(epoch from window_ends_at - now()))::integer as seconds
    from unhandled_counts
    where is_spent and window_ends_at > now()
    limit ${MOST_SPENT}
  `
}
