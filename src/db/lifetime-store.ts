import { type Db, type Fragment, sql } from './connect.ts'
import { type Expiry, type LifetimeSettings, TABLES } from './tables.ts'

type Expiring = Expiry & { readonly table: string }

/** One statement deletes up to `limit` of the oldest rows, after `skip` undeletable ones. */
export type ExpiryBatch = { readonly limit: number; readonly skip: number }

const DAY = 24

/** Lists the tables whose rows expire by age alone. */
export const listExpiring = (settings: LifetimeSettings): Expiring[] =>
  TABLES.flatMap(({ name, expires }) => {
    if (expires === undefined) return []
    const days = expires.setting === undefined ? 0 : settings[expires.setting]
    return days === undefined ? [] : [{ table: name, ...expires, hours: expires.hours + days * DAY }]
  })

/** Deletes expired rows, oldest first; returns how many. */
export async function expireRows(db: Db, expiring: Expiring, batch: ExpiryBatch): Promise<number> {
  const expired = await db`${expiry(expiring, batch)}`
  return expired.count
}

export const expiry = ({ table, key, column, hours }: Expiring, { limit, skip }: ExpiryBatch): Fragment =>
  deletion(
    table,
    key,
    sql`
      where ${sql.unsafe(column)} < now() - make_interval(hours => ${hours})
      order by ${sql.unsafe(column)}
      limit ${limit}
      offset ${skip}
      for update skip locked
    `,
  )

/** Deletes the rows that a subquery after `from` selects; returns how many. */
export async function deleteSelected(db: Db, table: string, key: readonly string[], which: Fragment): Promise<number> {
  const deleted = await db`${deletion(table, key, which)}`
  return deleted.count
}

function deletion(table: string, key: readonly string[], which: Fragment): Fragment {
  const [rows, columns] = [sql.unsafe(table), sql.unsafe(key.join(', '))]
  return sql`delete from ${rows} where (${columns}) in (select ${columns} from ${rows} ${which})`
}

/** Lists up to `limit` companies for which a condition on `company.id` holds. */
export async function listCompaniesWith(db: Db, condition: Fragment, limit: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select company.id from companies company where ${condition} order by company.id limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** A company's rows that expire `days` after their creation. Their ids grow with time. */
export type AgingRows = {
  readonly table: 'emails' | 'messages'
  readonly where: Fragment
  /** Checked for the oldest rows only. */
  readonly areDeletable: Fragment
  readonly days: number
}

/** Matches companies by their oldest row: one index probe each. */
export const haveAged = ({ table, where, days }: AgingRows): Fragment => sql`
  (
    select aging.created_at
    from ${sql.unsafe(table)} aging
    where aging.company_id = company.id and ${where}
    order by aging.id
    limit 1
  ) < now() - make_interval(days => ${days})
`

/** Returns the ids of a company's oldest expired rows. */
export async function findAged(
  db: Db,
  companyId: number,
  { table, where, areDeletable, days }: AgingRows,
  { limit, skip }: ExpiryBatch,
): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select oldest.id
    from (
      select aging.*
      from ${sql.unsafe(table)} aging
      where aging.company_id = ${companyId} and ${where}
      order by aging.id
      limit ${limit}
      offset ${skip}
    ) as oldest
    where oldest.created_at < now() - make_interval(days => ${days}) and ${areDeletable}
  `
  return rows.map(({ id }) => id)
}
