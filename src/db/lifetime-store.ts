import type { Db } from './connect.ts'

/** Rows that are deleted by their age alone; the comment of each table says the same. */
export const EXPIRING = [
  { table: 'waiting_statuses', column: 'created_at', hours: 1 },
  { table: 'message_status_events', column: 'created_at', hours: 30 * 24 },
  { table: 'message_changes', column: 'occurred_at', hours: 30 * 24 },
  { table: 'jobs', column: 'failed_at', hours: 30 * 24 },
  { table: 'email_clicks', column: 'at', hours: 90 * 24 },
  { table: 'consent_changes', column: 'at', hours: 5 * 365 * 24 },
] as const

type Expiring = (typeof EXPIRING)[number]

/** Deletes up to `limit` rows that are older than their table keeps them, oldest first; returns how many. */
export async function expireRows(db: Db, expiring: Expiring, limit: number): Promise<number> {
  const expired = await expiry(db, expiring, limit)
  return expired.count
}

/** The statement of `expireRows`. Rows that another process deletes are skipped. */
export const expiry = (db: Db, { table, column, hours }: Expiring, limit: number) => db`
  delete from ${db(table)}
  where ctid = any (
    array(
      select ctid
      from ${db(table)}
      where ${db(column)} < now() - make_interval(hours => ${hours})
      order by ${db(column)}
      limit ${limit}
      for update skip locked
    )
  )
`
