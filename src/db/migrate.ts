import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Pool } from './connect.ts'

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url))
const LOCK = 7_237_455_201

/**
 * Applies the migrations that are missing, in order, and returns their names. Each runs in a transaction of its own
 * that writes the ledger row first; an advisory lock lets several processes start at once.
 */
export async function migrate(db: Pool, folder: string = FOLDER): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /^[0-9]{4}_.+\.sql$/.test(name)).sort()
  const applied: string[] = []
  await db`
    create table if not exists migrations (
      name text primary key,
      applied_at timestamptz not null default now()
    )
  `.catch(ignoreRace)
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8')
    const isNew = await db.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LOCK})`
      const rows = await tx`insert into migrations (name) values (${name}) on conflict do nothing returning name`
      if (rows.length === 0) return false
      await tx.unsafe(text)
      return true
    })
    if (isNew) applied.push(name)
  }
  return applied
}

/** Two processes that create the ledger at the same instant: one of them finds the other's (unique_violation). */
function ignoreRace(error: { code?: string }): void {
  if (error.code !== '23505' && error.code !== '42P07') throw error
}
