import { type Db, sql } from './connect.ts'
import { type Expiry, TABLES } from './tables.ts'

type Expiring = Expiry & { readonly table: string }

/** One statement deletes up to `limit` of the oldest rows, after `skip` undeletable ones. */
export type ExpiryBatch = { readonly limit: number; readonly skip: number }

const DAY = 24

export const EXPIRING: readonly Expiring[] = TABLES.flatMap(({ name, expires }) =>
  expires === undefined ? [] : [{ table: name, ...expires }],
)

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
