import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeSchema } from '../../scripts/generate/schema.ts'
import type { Pool } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { createTestDatabase } from '../database.ts'
import {
  digestOf,
  fillTables,
  findLost,
  MIGRATIONS,
  OBJECTS,
  RELEASES,
  type Release,
  readRows,
  schemaOf,
} from './baseline.ts'

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-schema-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A database of this version with rows in every table. */
async function createFilledDatabase(): Promise<Pool> {
  const { db } = await createTestDatabase()
  await fillTables(db)
  return db
}

/** The same of a released version. */
async function createReleasedDatabase(release: Release): Promise<Pool> {
  const { db } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  await migrate(db, { source: schemaOf(release, temporaryFolder()) })
  await fillTables(db)
  return db
}

/** The schema of a version to come: one more migration, and a function with another text. */
function laterSchema() {
  const folder = temporaryFolder()
  const [migrations, objects] = [join(folder, 'migrations'), join(folder, 'objects')]
  cpSync(MIGRATIONS, migrations, { recursive: true })
  cpSync(OBJECTS, objects, { recursive: true, filter: (path) => !path.endsWith('.ts') })
  writeFileSync(
    join(migrations, '9999_later.sql'),
    "alter table contacts add column nickname text not null default '';",
  )
  const rank = join(objects, 'conversations/sql/message-status-rank.sql')
  writeFileSync(rank, `${readFileSync(rank, 'utf8')}-- later\n`)
  return { migrations, objects }
}

test('a filled database of this version migrates to a later one with all its rows', async () => {
  const db = await createFilledDatabase()
  const before = await readRows(db)
  expect([...before].filter(([, rows]) => rows.length === 0)).toEqual([])
  expect(await migrate(db, { source: laterSchema() })).toEqual(['9999_later.sql'])
  expect(await findLost(db, before)).toEqual([])
  expect(await db`select distinct nickname from contacts`).toEqual([{ nickname: '' }])
})

test('a row that a migration changes or removes is noticed', async () => {
  const db = await createFilledDatabase()
  const before = await readRows(db)
  await db`update companies set name = 'another' where id = 1`
  await db`delete from consents where company_id = 2`
  const lost = await findLost(db, before)
  expect(lost.map((row) => row.slice(0, row.indexOf(':')))).toEqual(['companies', 'consents'])
})

test.each(
  RELEASES,
)('a filled database of $version migrates to the newest schema with all its rows', async (release) => {
  const db = await createReleasedDatabase(release)
  const before = await readRows(db)
  expect([...before].filter(([, rows]) => rows.length === 0)).toEqual([])
  await migrate(db)
  expect(await findLost(db, before)).toEqual([])
  const optOuts = (before.get('opt_outs') ?? []).map((row) => JSON.parse(row).identity)
  const refused = await db<{ identity: string }[]>`select distinct identity from consents where not value`
  expect(refused.map(({ identity }) => identity)).toEqual(expect.arrayContaining(optOuts))
  const { db: fresh } = await createTestDatabase()
  expect(await describeSchema(db)).toBe(await describeSchema(fresh))
})

test.each(RELEASES)('no migration of $version is edited', (release) => {
  expect(digestOf(release)).toBe(release.digest)
})

test('every version of the changelog is upgraded from', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  const released = [...changelog.matchAll(/^## v?(\d+\.\d+\.\d+)/gm)].map(([, version]) => version)
  expect(RELEASES.map(({ version }) => version)).toEqual(released.toReversed())
})
