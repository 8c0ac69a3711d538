import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect, type Db, type Pool, type SessionLimits } from '../src/db/connect.ts'
import { atFileEnd } from './file-end.ts'

export type TestDatabase = { db: Pool; url: string }

/**
 * A database of this test file's own: a clone of the migrated template, dropped when the file ends.
 * Call it at the top of a file or in `beforeAll`. With `mirrors`, but in the project `process`, every company has a mirror
 * (run/mirrors.ts): the tests of the file notice each statement that does not compare the company. A program that is no test names
 * the template that it started itself.
 */
export async function createTestDatabase({
  mirrors = false,
  templateUrl = inject('databaseUrl'),
  limits,
}: {
  mirrors?: boolean
  templateUrl?: string
  /** What the server ends; absent: nothing. */
  limits?: SessionLimits
} = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const server = connect(templateUrl.replace('/parley?', '/postgres?'), { max: 1 })
  const template = mirrors ? inject('template') : 'parley'
  // Copying files takes a third of the time of writing each page to the log.
  await server.unsafe(`create database ${name} template ${template} strategy file_copy`)
  const url = templateUrl.replace('/parley?', `/${name}?`)
  const db = connect(url, { optOutKey: 'key-of-the-tests', ...(limits && { limits }) })
  atFileEnd(async () => {
    await db.end()
    await server.unsafe(`drop database if exists ${name} with (force)`)
    await server.end()
  })
  return { db, url }
}

/** Rows of a table that this session has read lately: by scanning it, and by its indexes. Compare before and after. */
export async function readsOf(tx: Db, table: string): Promise<{ scanned: number; fetched: number }> {
  const [row] = await tx<[{ scanned: number; fetched: number }]>`
    select seq_tup_read as scanned, idx_tup_fetch as fetched from pg_stat_xact_user_tables where relname = ${table}
  `
  return row
}
