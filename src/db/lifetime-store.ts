import { type Db, sql } from './connect.ts'

type Expiring = {
  readonly table: string
  readonly key: readonly string[]
  readonly column: string
  readonly hours: number
  /** Rows per statement, where bodies up to 4 MiB make a thousand too many. */
  readonly batch?: number
}

/** One statement deletes up to `limit` of the oldest rows, after `skip` undeletable ones. */
export type ExpiryBatch = { readonly limit: number; readonly skip: number }

const DAY = 24

/** Must match the table comments. */
export const EXPIRING: readonly Expiring[] = [
  { table: 'console_sessions', key: ['id'], column: 'idle_until', hours: 0 },
  { table: 'sign_in_links', key: ['digest'], column: 'expires_at', hours: 0 },
  { table: 'unhandled_counts', key: ['address'], column: 'window_ends_at', hours: 0 },
  { table: 'waiting_statuses', key: ['company_id', 'id'], column: 'created_at', hours: DAY },
  { table: 'operator_keys', key: ['id'], column: 'created_at', hours: 2 * DAY },
  { table: 'idempotency_keys', key: ['company_id', 'id'], column: 'created_at', hours: 2 * DAY },
  { table: 'inbound_items', key: ['id'], column: 'received_at', hours: 30 * DAY, batch: 100 },
  { table: 'inbound_bodies', key: ['event_id'], column: 'received_at', hours: 30 * DAY, batch: 100 },
  {
    table: 'message_status_events',
    key: ['company_id', 'message_id', 'status'],
    column: 'created_at',
    hours: 30 * DAY,
  },
  { table: 'message_changes', key: ['company_id', 'wamid'], column: 'occurred_at', hours: 30 * DAY },
  { table: 'scheduled_messages', key: ['company_id', 'id'], column: 'ended_at', hours: 30 * DAY },
  { table: 'jobs', key: ['id'], column: 'failed_at', hours: 30 * DAY },
  { table: 'erased_keys', key: ['company_id', 'hash'], column: 'erased_at', hours: 30 * DAY },
  { table: 'account_events', key: ['company_id', 'id'], column: 'received_at', hours: 90 * DAY },
  { table: 'email_clicks', key: ['company_id', 'email_id', 'id'], column: 'at', hours: 90 * DAY },
]

export const reactionsAfter = (days: number): Expiring => ({
  table: 'message_reactions',
  key: ['company_id', 'wamid'],
  column: 'occurred_at',
  hours: days * DAY,
})

/** Persons named in envelopes; each day is dropped at the end of the next. */
export const envelopePeopleAfter = (days: number): Expiring => ({
  table: 'envelope_people',
  key: ['company_id', 'person', 'event', 'event_id', 'day'],
  column: 'created_at',
  hours: (days + 2) * DAY,
})

/** Deletes expired rows, oldest first; returns how many. */
export async function expireRows(db: Db, expiring: Expiring, batch: ExpiryBatch): Promise<number> {
  const expired = await db`${expiry(db, expiring, batch)}`
  return expired.count
}

export const expiry = (db: Db, { table, key, column, hours }: Expiring, { limit, skip }: ExpiryBatch) => sql`
  delete from ${db(table)}
  where (${db([...key])}) in (
    select ${db([...key])}
    from ${db(table)}
    where ${db(column)} < now() - make_interval(hours => ${hours})
    order by ${db(column)}
    limit ${limit}
    offset ${skip}
    for update skip locked
  )
`
