import { fileURLToPath } from 'node:url'
import { ROOT } from '../../platform/program-file.ts'
import { messageOf, StartError } from '../../platform/start-error.ts'
import { MIGRATE_LOCK } from '../advisory-locks.ts'
import type { Db, Pool, Transaction } from '../connect.ts'
import { isDatabaseDown } from '../pool/failure.ts'
import { explainRefusal } from '../server/start-refusal.ts'
import {
  checkBaseline,
  checkLater,
  createLedgers,
  hasLedgers,
  listDone,
  type Migration,
  readMigrations,
  tablesOf,
} from './ledger.ts'
import { checkAlone, waitUntilAlone } from './other-versions.ts'
import { differFromFiles, readSqlObjects } from './sql-object.ts'
import { replaceSqlObjects } from './sql-object-store.ts'
import { changeSchema, locksOf, takeLocks } from './table-locks.ts'

export type SchemaSource = { migrations: string; objects: string }

type MigrateOptions = {
  source?: SchemaSource
  warn?: (message: string) => void
  /** Apply breaking migrations even while other versions are connected. */
  isForced?: boolean
  /** Run on a later version's schema, unless a later migration is breaking. */
  allowsNewer?: boolean
}

const SOURCE: SchemaSource = {
  migrations: fileURLToPath(new URL('migrations/', ROOT)),
  objects: fileURLToPath(new URL('src/', ROOT)),
}
const RUN_MIGRATE = 'run parley migrate as the owner of the schema, or start with MIGRATE=on'
const OLDEST_SERVER = 15

/**
 * Applies missing migrations, then changed functions, views and types; returns the migration names. Each transaction
 * writes its ledger row first. Previous-version processes may be working, so lock waits are short and retried. Any
 * number of processes can start at once.
 * @throws StartError when the server is too old, a migration or function fails, a breaking migration would meet other
 * versions, or the schema is later or pre-baseline
 */
export async function migrate(db: Pool, options: MigrateOptions = {}): Promise<string[]> {
  const { source = SOURCE, isForced = false } = options
  await checkServer(db)
  if (!(await hasLedgers(db))) await changeSchema(db, 'The ledger of migrations', createLedgers)
  const migrations = await readMigrations(source.migrations)
  const done = await listDone(db)
  checkBaseline(migrations, done)
  const isLater = checkLater(migrations, done, laterOptions(options))
  const applied: string[] = []
  for (const migration of migrations) {
    if (!done.has(migration.name) && (await apply(db, migration, done.size === 0 || isForced)))
      applied.push(migration.name)
  }
  if (!isLater) {
    const objects = await readSqlObjects(source.objects)
    await changeSchema(db, 'The functions of the database', (tx) => replaceSqlObjects(tx, objects))
  }
  await checkTables(db, tablesOf(migrations))
  return applied
}

const laterOptions = ({ allowsNewer: isAllowed = false, warn = () => {} }: MigrateOptions) => ({ isAllowed, warn })

/** Checks for this version's schema without DDL rights. Throws StartError with the remedy, or as `migrate` does. */
export async function checkSchema(db: Pool, options: MigrateOptions = {}): Promise<void> {
  const { source = SOURCE } = options
  await checkServer(db)
  const [row] = await db`select to_regclass('migrations') is not null as ready`
  if (!row?.ready) throw new StartError(`The database has no schema yet: ${RUN_MIGRATE}`)
  const migrations = await readMigrations(source.migrations)
  const done = await listDone(db)
  checkBaseline(migrations, done)
  const isLater = checkLater(migrations, done, laterOptions(options))
  const missing = migrations.filter(({ name }) => !done.has(name)).map(({ name }) => name)
  if (missing.length > 0) throw new StartError(`The database lacks ${missing.join(', ')}: ${RUN_MIGRATE}`)
  const areOwn = async () =>
    (await hasLedgers(db)) && !(await differFromFiles(db, await readSqlObjects(source.objects)))
  if (!isLater && !(await areOwn())) {
    throw new StartError(`The functions of the database are not this version's: ${RUN_MIGRATE}`)
  }
  await checkTables(db, tablesOf(migrations))
}

/** Checks again for a later schema: waits for a migration begun earlier; a later one finds this process's session. */
export async function checkStillKnown(db: Pool, allowsNewer: boolean): Promise<void> {
  const migrations = await readMigrations(SOURCE.migrations)
  await db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock_shared(${MIGRATE_LOCK})`
    checkLater(migrations, await listDone(tx), laterOptions({ allowsNewer }))
  })
}

async function checkServer(db: Db): Promise<void> {
  const [row] = await db`
    select current_setting('server_version') as version,
           current_setting('server_version_num')::int / 10000 as major,
           pg_is_in_recovery() as standby
  `
  if (row?.major < OLDEST_SERVER) {
    throw new StartError(
      `The database is PostgreSQL ${row?.version}; Parley needs version ${OLDEST_SERVER} or later: upgrade it, or set DATABASE_URL to a later one`,
    )
  }
  if (row?.standby) {
    throw new StartError(
      'The database is a standby that takes no writes: name all hosts in DATABASE_URL and add target_session_attrs=primary',
    )
  }
}

async function apply(db: Pool, migration: Migration, mayBreak: boolean): Promise<boolean> {
  const { name, breaking } = migration
  try {
    if (breaking && !mayBreak) await waitUntilAlone(db, name)
    return await changeSchema(db, `The migration ${name}`, (tx) => applyIn(tx, migration, mayBreak))
  } catch (error) {
    // The commit may have succeeded; the next start will see.
    if (isDatabaseDown(error) || error instanceof StartError) throw error
    throw (
      explainRefusal(error) ??
      new StartError(`The migration ${name} failed and left nothing behind: ${messageOf(error)}`, error)
    )
  }
}

async function applyIn(
  tx: Transaction,
  { name, text, checksum, breaking }: Migration,
  mayBreak: boolean,
): Promise<boolean> {
  const rows = await tx`
    insert into migrations (name, breaking, checksum) values (${name}, ${breaking}, ${checksum})
    on conflict do nothing
    returning name
  `
  if (rows.length === 0) return false
  if (breaking && !mayBreak) await checkAlone(tx, name)
  const { from, ...locks } = locksOf(text)
  await tx.unsafe(text.slice(0, from))
  await takeLocks(tx, locks)
  await tx.unsafe(text.slice(from))
  return true
}

/** Throws StartError with the remedy for tables that are missing or that this role can't read and write. */
async function checkTables(db: Db, names: string[]): Promise<void> {
  const rows = await db<{ name: string; isMissing: boolean }[]>`
    with requested as (select name, to_regclass(quote_ident(name))::oid as id from unnest(${names}::text[]) as name)
    select name, id is null as is_missing
    from requested
    where id is null
      or not (
        has_table_privilege(id, 'select') and has_table_privilege(id, 'insert')
        and has_table_privilege(id, 'update') and has_table_privilege(id, 'delete')
      )
    order by name
  `
  const [missing, closed] = [rows.filter((row) => row.isMissing), rows.filter((row) => !row.isMissing)]
  if (missing.length > 0) {
    throw new StartError(
      `The database lacks ${listed(missing)}, which its migrations created: restore the whole backup, or begin with an empty database`,
    )
  }
  if (closed.length > 0) {
    throw new StartError(
      `The role of DATABASE_URL may not read and write ${listed(closed)}: grant what deploy/roles.sql grants, as the owner of the tables`,
    )
  }
}

const SHOWN = 5

function listed(rows: { name: string }[]): string {
  const names = rows.slice(0, SHOWN).map(({ name }) => name)
  const more = rows.length - names.length
  return `${rows.length === 1 ? 'the table' : 'the tables'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
