import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Db, Pool } from '../../src/db/connect.ts'
import type { SchemaSource } from '../../src/db/migration/migrate.ts'

/**
 * Every released version: its last migration, and the SHA-256 of all its migrations, which are never edited. The folder
 * `fixtures/releases/<version>` has its views and its functions that depend on a table, which later migrations meet.
 */
export const RELEASES = [
  {
    version: '0.1.0',
    lastMigration: '0005_email.sql',
    digest: '50589f56fca0c4f100ce6bbc2726b4bc7e87a9e75c6648e2237ef498cb963a25',
  },
]
export type Release = (typeof RELEASES)[number]

export const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url))
export const OBJECTS = fileURLToPath(new URL('../../src/', import.meta.url))
const RELEASED_OBJECTS = fileURLToPath(new URL('../fixtures/releases/', import.meta.url))
/** Tables that `migrate` writes itself. */
const LEDGERS = ['migrations', 'sql_objects']
const ROWS = 3

const migrationsOf = ({ lastMigration }: Release): string[] =>
  readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql') && name <= lastMigration)
    .sort()

/** The migrations of a release as they are today. */
export function digestOf(release: Release): string {
  const hash = createHash('sha256')
  for (const name of migrationsOf(release)) hash.update(readFileSync(join(MIGRATIONS, name)))
  return hash.digest('hex')
}

/** The schema of a released version; its migrations are copied to a folder. */
export function schemaOf(release: Release, folder: string): SchemaSource {
  for (const name of migrationsOf(release)) cpSync(join(MIGRATIONS, name), join(folder, name))
  return { migrations: folder, objects: join(RELEASED_OBJECTS, release.version) }
}

type Column = {
  name: string
  type: string
  isRequired: boolean
  isIdentity: boolean
  isPartitionKey: boolean
  allowed: string | null
}
export type Rows = Map<string, string[]>

/**
 * Writes three rows into each table, with a value in every column, or in the required ones where a check forbids that. The
 * n-th row holds n wherever a number or a text is free, so that foreign keys find their rows.
 */
export async function fillTables(db: Pool): Promise<void> {
  await db.begin(async (tx) => {
    // Parents may come after their children.
    await tx`set local session_replication_role = replica`
    for (const statement of await samplePartitions(tx)) await tx.unsafe(statement)
    for (const table of await listTables(tx)) {
      if (LEDGERS.includes(table)) continue
      const columns = await listColumns(tx, table)
      const required = columns.filter(({ isRequired }) => isRequired)
      await tx.savepoint((part) => fill(part, table, columns)).catch(() => fill(tx, table, required))
    }
  })
}

async function fill(tx: Db, table: string, columns: Column[]): Promise<void> {
  const rows = Array.from({ length: ROWS }, (_, i) =>
    Object.fromEntries(columns.map((column) => [column.name, sampleOf(column, i + 1)])),
  )
  await tx.unsafe(insertion(table, columns, JSON.stringify(rows)))
}

/** The day of every row: that of ids below 1,000,000,000. */
const SAMPLE_DAY = 0

/** Statements that make the partition of the rows in each partitioned table. */
async function samplePartitions(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'p' and not relispartition
      -- Messages of these ids have one.
      and relname <> 'messages'
    order by relname
  `
  return rows.map(
    ({ name }) =>
      `create table ${name}_19700101 partition of ${name} for values from (${SAMPLE_DAY}) to (${SAMPLE_DAY + 1});`,
  )
}

function sampleOf({ type, allowed, isPartitionKey }: Column, n: number): unknown {
  if (isPartitionKey) return SAMPLE_DAY
  if (allowed !== null) return allowed
  if (type === 'jsonb') return { n }
  if (type === 'boolean') return false
  if (type === 'bytea') return `\\x0${n}`
  if (type === 'uuid') return `00000000-0000-4000-8000-00000000000${n}`
  if (type.endsWith('[]')) return [String(n)]
  if (type === 'date') return `2026-01-0${n}`
  if (type.startsWith('timestamp')) return `2026-01-0${n}T00:00:00Z`
  return type.includes('int') ? n : String(n)
}

function insertion(table: string, columns: Column[], json: string): string {
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const rows = `jsonb_populate_recordset(null::${table}, $rows$${json}$rows$)`
  return `insert into ${table} (${names}) overriding system value select ${names} from ${rows}`
}

/** The rows of each table, as JSON. */
export async function readRows(db: Db): Promise<Rows> {
  const rows: Rows = new Map()
  for (const table of await listTables(db)) {
    const found = await db<{ row: string }[]>`select to_jsonb(t)::text as row from ${db(table)} t order by 1`
    rows.set(
      table,
      found.map(({ row }) => row),
    )
  }
  return rows
}

/** Columns that migrations have renamed, by table. */
const RENAMED: Record<string, Record<string, string>> = {
  envelopes: { wamid: 'event_id' },
  deliveries: { wamid: 'event_id' },
}

/** Columns whose values migrations have moved to other tables: customers have the identities of conversations. */
const MOVED: Record<string, readonly string[]> = {
  conversations: ['customer', 'contact_id'],
  sender_limits: ['last_ordinal', 'expired_ordinal'],
}
/** Tables that migrations have replaced: by customers, their identities, the ledger of consent, and limits of portfolios. */
const REPLACED = [
  'consent_changes',
  'contact_aliases',
  'customer_aliases',
  'customer_user_ids',
  'daily_limit_entries',
  'opt_outs',
]

/** A row as the newest schema names its columns. */
function toPresent(table: string, text: string): string {
  const names = RENAMED[table] ?? {}
  const columns = Object.entries(JSON.parse(text)).filter(([name]) => !MOVED[table]?.includes(name))
  return JSON.stringify(Object.fromEntries(columns.map(([name, value]) => [names[name] ?? name, value])))
}

/** The rows, of those read before, that the tables no longer hold with the same values. New columns do not matter. */
export async function findLost(db: Db, before: Rows): Promise<string[]> {
  const lost: string[] = []
  for (const [table, rows] of before) {
    if (LEDGERS.includes(table) || REPLACED.includes(table)) continue
    const gone = await db<{ row: string }[]>`
      select row::text as row
      from jsonb_array_elements(${`[${rows.map((row) => toPresent(table, row)).join(',')}]`}::text::jsonb) as row
      where not exists (select from ${db(table)} t where to_jsonb(t) @> row)
    `
    lost.push(...gone.map(({ row }) => `${table}: ${row}`))
  }
  return lost
}

async function listTables(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select relname as name
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    order by relname
  `
  return rows.map(({ name }) => name)
}

/** The columns that can be written; `allowed`: the first value of a list that a check gives. */
function listColumns(db: Db, table: string): Promise<Column[]> {
  return db<Column[]>`
    select
      attribute.attname as name,
      format_type(attribute.atttypid, attribute.atttypmod) as type,
      attribute.attnotnull as is_required,
      attribute.attidentity <> '' as is_identity,
      exists (
        select from pg_partitioned_table parent
        where parent.partrelid = attribute.attrelid and attribute.attnum = any (parent.partattrs)
      ) as is_partition_key,
      (
        select substring(pg_get_constraintdef(rule.oid) from '= ANY \\(ARRAY\\[''([^'']*)''')
        from pg_constraint rule
        where rule.contype = 'c' and rule.conrelid = attribute.attrelid and rule.conkey = array[attribute.attnum]
        limit 1
      ) as allowed
    from pg_attribute attribute
    where attribute.attrelid = ${table}::regclass and attribute.attnum > 0
      and not attribute.attisdropped and attribute.attgenerated = ''
    order by attribute.attnum
  `
}
