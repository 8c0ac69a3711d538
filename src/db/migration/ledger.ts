import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../platform/start-error.ts'
import type { Db } from '../connect.ts'

export type Migration = { name: string; text: string; checksum: string; breaking: boolean }

/** Marks a migration that older code can't run on. */
const BREAKING = /^--! breaking\b/

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^[0-9]{4}_.+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex'), breaking: BREAKING.test(text) }
    }),
  )
}

export function tablesOf(migrations: Migration[]): string[] {
  const names = new Set<string>()
  for (const { text } of migrations) {
    for (const [, verb, name = ''] of text.matchAll(/^(create|drop)(?: unlogged)? table (?:if exists )?(\w+)/gm)) {
      if (verb === 'create') names.add(name)
      else names.delete(name)
    }
  }
  return [...names]
}

const BEFORE_BASELINE = '0001_companies.sql'

export type Done = { breaking: boolean; checksum: string | null }

/** Returns whether both ledgers exist with this version's columns. */
export async function hasLedgers(db: Db): Promise<boolean> {
  const [row] = await db<[{ columns: number }]>`
    select count(*)::int as columns
    from pg_attribute
    where not attisdropped
      and (attrelid, attname) in ((to_regclass('migrations'), 'checksum'), (to_regclass('sql_objects'), 'superseded_by'))
  `
  return row.columns === 2
}

/** Creates missing ledgers or columns; locks nothing when complete. */
export async function createLedgers(db: Db): Promise<void> {
  if (await hasLedgers(db)) return
  await db`
    create table if not exists migrations (
      name text primary key,
      applied_at timestamptz not null default now(),
      breaking boolean not null default false,
      checksum text -- SHA-256 of the file, in hex
    )
  `
  // For databases older than the checksums.
  await db`alter table migrations add column if not exists checksum text`
  await db`
    create table if not exists sql_objects (
      name text primary key, -- with the types of its arguments for a function that is kept for an earlier version
      kind text not null,
      checksum text not null -- SHA-256 of the file, in hex
    )
  `
  // The version that no longer needs the object; null: current.
  await db`alter table sql_objects add column if not exists superseded_by text`
}

export async function listDone(db: Db): Promise<Map<string, Done>> {
  const rows = await db<(Done & { name: string })[]>`select name, breaking, checksum from migrations order by name`
  return new Map(rows.map((row) => [row.name, row]))
}

/** Throws StartError for an edited migration, which only a pre-release database can have. */
export function checkBaseline(shipped: Migration[], done: Map<string, Done>): void {
  const isEdited = shipped.some(({ name, checksum }) => done.has(name) && done.get(name)?.checksum !== checksum)
  if (!isEdited && !done.has(BEFORE_BASELINE)) return
  throw new StartError(
    'The database was made by a Parley from before version 0.1.0 and cannot be upgraded: start again with an empty ' +
      'DATA_DIR (move ./data away) or an empty database in DATABASE_URL',
  )
}

/**
 * Returns whether the database has unknown migrations. Throws StartError unless `isAllowed`, always for breaking ones.
 */
export function checkLater(
  shipped: Migration[],
  done: Map<string, Done>,
  { isAllowed, warn }: { isAllowed: boolean; warn: (message: string) => void },
): boolean {
  const names = new Set(shipped.map((migration) => migration.name))
  const later = [...done].filter(([name]) => !names.has(name))
  for (const [name, { breaking }] of later) {
    const fact = `The database has the migration ${name}, which this Parley doesn't know`
    if (breaking)
      throw new StartError(
        `${fact} and can't run on: start the later Parley that made it, or restore the backup from before its migration`,
      )
    if (!isAllowed)
      throw new StartError(
        `${fact}: start the later Parley that made it, or set NEWER_SCHEMA=allow to go back to this one, which runs on it`,
      )
    warn(`${fact}: it was made by a later one`)
  }
  return later.length > 0
}
