import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../../program-file.ts'
import { messageOf, StartError } from '../../start-error.ts'
import { MIGRATE_LOCK } from '../advisory-locks.ts'
import type { Db, Pool } from '../connect.ts'
import { isDatabaseDown } from '../pool/failure.ts'
import { explainRefusal } from '../server/start-refusal.ts'
import { differFromFiles, readSqlObjects, replaceSqlObjects, type SqlObject } from './sql-object.ts'
import { checkTables } from './table-check-store.ts'

/** The folders of the schema: numbered migrations of tables, and the rooms whose `sql/` folders hold functions. */
export type SchemaSource = { migrations: string; objects: string }

const SOURCE: SchemaSource = {
  migrations: fileURLToPath(new URL('migrations/', ROOT)),
  objects: fileURLToPath(new URL('src/', ROOT)),
}
const RUN_MIGRATE = 'run parley migrate as the owner of the schema, or start with MIGRATE=on'
/** The first migration of databases from before the baseline. */
const BEFORE_BASELINE = '0001_companies.sql'
const OLDEST_SERVER = 15
/** On top of a migration that code from before it can't run on. */
const BREAKING = /^--! breaking\b/

type Migration = { name: string; text: string; checksum: string; breaking: boolean }
/** The ledger's row of a migration. */
type Done = { breaking: boolean; checksum: string | null }

/**
 * Applies the migrations that are missing, in order, then the functions, views and types whose text has changed, and
 * returns the names of the migrations. Each migration runs in a transaction of its own that writes the ledger row first,
 * so one that fails or is cut off leaves nothing; an advisory lock lets several processes start at once. Migrations of a
 * later Parley are reported to `warn`, and refused if one is marked breaking; its functions stay as they are.
 *
 * @throws StartError when the server is too old, a migration or a function fails, or the schema is a later Parley's or
 *   one from before the baseline.
 */
export async function migrate(
  db: Pool,
  source: SchemaSource = SOURCE,
  warn: (message: string) => void = () => {},
): Promise<string[]> {
  await checkServer(db)
  await createLedgers(db)
  const migrations = await readMigrations(source.migrations)
  const done = await listDone(db)
  checkBaseline(migrations, done)
  const isLater = checkLater(migrations, done, warn)
  const applied: string[] = []
  for (const migration of migrations) {
    if (!done.has(migration.name) && (await apply(db, migration))) applied.push(migration.name)
  }
  if (!isLater) await applyObjects(db, await readSqlObjects(source.objects))
  await checkTables(db, tablesOf(migrations))
  return applied
}

/**
 * Checks that the schema is this version's, and changes nothing: a role without DDL rights may call it.
 *
 * @throws StartError that names what is missing and the command that adds it, or as `migrate` does.
 */
export async function checkSchema(
  db: Pool,
  source: SchemaSource = SOURCE,
  warn: (message: string) => void = () => {},
): Promise<void> {
  await checkServer(db)
  const [row] =
    await db`select to_regclass('migrations') is not null and to_regclass('sql_objects') is not null as ready`
  if (!row?.ready) throw new StartError(`The database has no schema yet: ${RUN_MIGRATE}`)
  const migrations = await readMigrations(source.migrations)
  const done = await listDone(db)
  checkBaseline(migrations, done)
  const isLater = checkLater(migrations, done, warn)
  const missing = migrations.filter(({ name }) => !done.has(name)).map(({ name }) => name)
  if (missing.length > 0) throw new StartError(`The database lacks ${missing.join(', ')}: ${RUN_MIGRATE}`)
  if (!isLater && (await differFromFiles(db, await readSqlObjects(source.objects)))) {
    throw new StartError(`The functions of the database are not this version's: ${RUN_MIGRATE}`)
  }
  await checkTables(db, tablesOf(migrations))
}

/** The tables that the migrations leave. */
function tablesOf(migrations: Migration[]): string[] {
  const names = new Set<string>()
  for (const { text } of migrations) {
    for (const [, verb, name = ''] of text.matchAll(/^(create|drop)(?: unlogged)? table (?:if exists )?(\w+)/gm)) {
      if (verb === 'create') names.add(name)
      else names.delete(name)
    }
  }
  return [...names]
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

async function createLedgers(db: Db): Promise<void> {
  await db`
    create table if not exists migrations (
      name text primary key,
      applied_at timestamptz not null default now(),
      breaking boolean not null default false,
      checksum text -- SHA-256 of the file, in hex
    )
  `.catch(ignoreRace)
  // Of a database from before the checksums.
  await db`alter table migrations add column if not exists checksum text`
  await db`
    create table if not exists sql_objects (
      name text primary key,
      kind text not null,
      checksum text not null -- SHA-256 of the file, in hex
    )
  `.catch(ignoreRace)
}

/** Two processes that create the ledger at the same instant: one of them finds the other's (unique_violation). */
function ignoreRace(error: { code?: string }): void {
  if (error.code !== '23505' && error.code !== '42P07') throw error
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^[0-9]{4}_.+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex'), breaking: BREAKING.test(text) }
    }),
  )
}

/** The migrations that the database has. */
async function listDone(db: Db): Promise<Map<string, Done>> {
  const rows = await db<(Done & { name: string })[]>`select name, breaking, checksum from migrations order by name`
  return new Map(rows.map((row) => [row.name, row]))
}

/** A migration is never edited once it is released: another text of the same name is from before the release. */
function checkBaseline(shipped: Migration[], done: Map<string, Done>): void {
  const isEdited = shipped.some(({ name, checksum }) => done.has(name) && done.get(name)?.checksum !== checksum)
  if (!isEdited && !done.has(BEFORE_BASELINE)) return
  throw new StartError(
    'The database was made by a Parley from before version 0.1.0 and cannot be upgraded: start again with an empty ' +
      'DATA_DIR (move ./data away) or an empty database in DATABASE_URL',
  )
}

/** Whether the database has migrations that this Parley does not know. */
function checkLater(shipped: Migration[], done: Map<string, Done>, warn: (message: string) => void): boolean {
  let isLater = false
  const names = new Set(shipped.map((migration) => migration.name))
  for (const [name, { breaking }] of done) {
    if (names.has(name)) continue
    const fact = `The database has the migration ${name}, which this Parley doesn't know`
    if (breaking)
      throw new StartError(
        `${fact} and can't run on: start the later Parley that made it, or restore the backup from before its migration`,
      )
    warn(`${fact}: it was made by a later one`)
    isLater = true
  }
  return isLater
}

/** Applies one migration, unless another process did meanwhile; answers whether we did. */
async function apply(db: Pool, { name, text, checksum, breaking }: Migration): Promise<boolean> {
  try {
    return await db.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${MIGRATE_LOCK})`
      const rows = await tx`
        insert into migrations (name, breaking, checksum) values (${name}, ${breaking}, ${checksum})
        on conflict do nothing
        returning name
      `
      if (rows.length === 0) return false
      await tx.unsafe(text)
      return true
    })
  } catch (error) {
    // It may have been committed: the next start sees.
    if (isDatabaseDown(error)) throw error
    throw (
      explainRefusal(error) ??
      new StartError(`The migration ${name} failed and left nothing behind: ${messageOf(error)}`, error)
    )
  }
}

async function applyObjects(db: Pool, objects: SqlObject[]): Promise<void> {
  await db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${MIGRATE_LOCK})`
    await replaceSqlObjects(tx, objects)
  })
}
