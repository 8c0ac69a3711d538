import { pipeline } from 'node:stream/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { StartError } from '../platform/start-error.ts'
import type { Db, Pool, Transaction } from './connect.ts'

export type Copied = { table: string; rows: number }

type Table = { name: string; columns: string }
/** Filled by `migrate` in the target, so equal on both sides. */
const LEDGERS = ['migrations', 'sql_objects']

/**
 * Copies rows, partitions and sequence positions into an empty schema: one snapshot, one transaction.
 * @throws StartError when the target has rows, or row counts differ afterwards
 */
export async function copyDatabase(source: Pool, target: Pool): Promise<Copied[]> {
  return source.begin('isolation level repeatable read read only', (from) =>
    target.begin(async (to) => {
      const tables = await listTables(from)
      await expectEmpty(to, tables)
      await createPartitions(from, to)
      const copied: Copied[] = []
      for (const table of tables) copied.push(await copyTable(from, to, table))
      await copySequences(from, to)
      return copied
    }),
  )
}

/** Referenced tables first. */
async function listTables(db: Db): Promise<Table[]> {
  const rows = await db<(Table & { needs: string[] })[]>`
    select
      relation.oid::regclass::text as name,
      (
        select string_agg(quote_ident(attname), ', ' order by attnum)
        from pg_attribute
        where attrelid = relation.oid and attnum > 0 and not attisdropped and attgenerated = ''
      ) as columns,
      (
        select coalesce(array_agg(distinct confrelid::regclass::text), '{}')
        from pg_constraint
        where conrelid = relation.oid and contype = 'f' and confrelid <> conrelid
      ) as needs
    from pg_class relation
    where relation.relnamespace = 'public'::regnamespace and relation.relkind in ('r', 'p')
      and not relation.relispartition and relation.relname <> all (${LEDGERS})
    order by 1
  `
  const ordered: (typeof rows)[number][] = []
  while (ordered.length < rows.length) {
    const ready = rows.filter(
      (row) => !ordered.includes(row) && row.needs.every((name) => ordered.some((earlier) => earlier.name === name)),
    )
    if (ready.length === 0) throw new Error('the foreign keys of the tables form a circle')
    ordered.push(...ready)
  }
  return ordered
}

async function expectEmpty(to: Db, tables: Table[]): Promise<void> {
  for (const { name } of tables) {
    const rows = await to.unsafe(`select from ${name} limit 1`)
    if (rows.length === 0) continue
    throw new StartError(
      `The database to copy to is not empty (its table ${name} has rows): create a new one, and start no Parley on it before`,
    )
  }
}

/** Delivery days and message months (docs/decisions 0007 and 0016). */
async function createPartitions(from: Db, to: Db): Promise<void> {
  const partitions = await from<{ name: string; parent: string; bounds: string }[]>`
    select child.oid::regclass::text as name, inhparent::regclass::text as parent,
           pg_get_expr(child.relpartbound, child.oid) as bounds
    from pg_inherits
    join pg_class child on child.oid = inhrelid
    where child.relkind = 'r' and child.relnamespace = 'public'::regnamespace
  `
  for (const { name, parent, bounds } of partitions) {
    if (parent === 'messages') {
      await createMessageMonth(to, name)
      continue
    }
    await to.unsafe(`create table if not exists ${name} partition of ${parent} ${bounds}`)
    await to.unsafe(`alter table ${name} set (autovacuum_vacuum_insert_scale_factor = 0.5)`)
  }
}

/** Month partitions have their own indexes. The migration already made the partition for earlier messages. */
async function createMessageMonth(to: Db, name: string): Promise<void> {
  const [, year, month] = /^messages_([0-9]{4})([0-9]{2})$/.exec(name) ?? []
  if (year !== undefined)
    await to`select make_message_month(${(Number(year) - 1970) * 12 + Number(month) - 1}::integer)`
}

async function copyTable(from: Transaction, to: Transaction, { name, columns }: Table): Promise<Copied> {
  const rows = from.copy(copyTo(`copy (select ${columns} from ${name}) to stdout`))
  await pipeline(rows, to.copy(copyFrom(`copy ${name} (${columns}) from stdin`)))
  const [before, after] = [await countRows(from, name), await countRows(to, name)]
  if (before !== after) throw new StartError(`Of the ${before} rows of ${name}, ${after} were copied: nothing was kept`)
  return { table: name, rows: after }
}

async function countRows(db: Db, name: string): Promise<number> {
  const [row] = await db.unsafe<[{ rows: number }]>(`select count(*) as rows from ${name}`)
  return row.rows
}

async function copySequences(from: Db, to: Db): Promise<void> {
  const sequences = await from<{ name: string }[]>`
    select oid::regclass::text as name from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace
  `
  for (const { name } of sequences) {
    const [place] = await from.unsafe<[{ lastValue: number; isCalled: boolean }]>(
      `select last_value, is_called from ${name}`,
    )
    await to`select setval(${name}::regclass, ${place.lastValue}::bigint, ${place.isCalled})`
  }
}
