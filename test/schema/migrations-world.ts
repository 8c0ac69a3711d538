import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Pool } from '../../src/db/connect.ts'
import type { SchemaSource } from '../../src/db/migration/migrate.ts'
import { createTestDatabase } from '../database.ts'

export const RUNNER = fileURLToPath(new URL('./run-migrate.ts', import.meta.url))

/** A database without anything in it. */
export async function emptyDatabase(): Promise<{ db: Pool; url: string }> {
  const { db, url } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  return { db, url }
}

/** A schema of these files only: names with a slash are functions. */
export function schema(files: Record<string, string>): SchemaSource {
  const folder = mkdtempSync(join(tmpdir(), 'parley-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'sql'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { migrations: folder, objects: folder }
}

export const names = async (db: Pool) => (await db`select name from migrations order by name`).map((row) => row.name)
