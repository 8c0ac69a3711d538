import { type Db, sql } from './connect.ts'

/** Rows that are deleted by their age alone, with the primary key; the comment of each table says the same. */
export const EXPIRING = [
  { table: 'console_sessions', key: ['id'], column: 'idle_until', hours: 0 },
  { table: 'sign_in_links', key: ['digest'], column: 'expires_at', hours: 0 },
  { table: 'waiting_statuses', key: ['company_id', 'id'], column: 'created_at', hours: 1 },
  { table: 'message_status_events', key: ['company_id', 'message_id', 'status'], column: 'created_at', hours: 30 * 24 },
  { table: 'message_changes', key: ['company_id', 'wamid'], column: 'occurred_at', hours: 30 * 24 },
  { table: 'scheduled_messages', key: ['company_id', 'id'], column: 'ended_at', hours: 30 * 24 },
  { table: 'jobs', key: ['id'], column: 'failed_at', hours: 30 * 24 },
  { table: 'account_events', key: ['company_id', 'id'], column: 'received_at', hours: 90 * 24 },
  { table: 'email_clicks', key: ['company_id', 'email_id', 'id'], column: 'at', hours: 90 * 24 },
  { table: 'erased_keys', key: ['company_id', 'hash'], column: 'erased_at', hours: 30 * 24 },
] as const

type Expiring = (typeof EXPIRING)[number]

/** Deletes up to `limit` rows that are older than their table keeps them, oldest first; returns how many. */
export async function expireRows(db: Db, expiring: Expiring, limit: number): Promise<number> {
  const expired = await db`${expiry(db, expiring, limit)}`
  return expired.count
}

/** The statement of `expireRows`. Rows that another process deletes are skipped. */
export const expiry = (db: Db, { table, key, column, hours }: Expiring, limit: number) => sql`
  delete from ${db(table)}
  where (${db(key)}) in (
    select ${db(key)}
    from ${db(table)}
    where ${db(column)} < now() - make_interval(hours => ${hours})
    order by ${db(column)}
    limit ${limit}
    for update skip locked
  )
`
