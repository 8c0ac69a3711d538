import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { until } from '../../test/parley-process.ts'
import { StartError } from '../start-error.ts'
import { connect, type Pool } from './connect.ts'
import { migrate } from './migrate.ts'

const RUNNER = fileURLToPath(new URL('../../test/run-migrate.ts', import.meta.url))

/** A database without anything in it. */
async function emptyDatabase(): Promise<{ db: Pool; url: string }> {
  const { db, url } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  return { db, url }
}

function migrations(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const names = async (db: Pool) => (await db`select name from migrations order by name`).map((row) => row.name)

test('a second run applies nothing', async () => {
  const { db } = await createTestDatabase()
  expect(await migrate(db)).toEqual([])
})

test('five processes at once on an empty database apply each migration once', async () => {
  const { db, url } = await emptyDatabase()
  const children = [1, 2, 3, 4, 5].map(() => fork(RUNNER, [url], { stdio: 'pipe' }))
  const results = await Promise.all(
    children.map(async (child) => {
      const exited = once(child, 'close')
      let applied: unknown = 'nothing was said'
      child.on('message', (message) => {
        applied = message
      })
      expect((await exited)[0]).toBe(0)
      return applied as string[]
    }),
  )
  const applied = results.flat().sort()
  expect(applied).toEqual(await names(db))
  expect(applied.length).toBeGreaterThan(5)
})

test('a migration that fails leaves nothing, names itself, and those before it stay', async () => {
  const { db } = await emptyDatabase()
  const folder = migrations({
    '0001_good.sql': 'create table good (id int);',
    '0002_bad.sql': 'create table half (id int); select nonsense;',
    '0003_later.sql': 'create table later (id int);',
  })
  const error = await migrate(db, folder).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).toContain('0002_bad.sql failed and left nothing behind: column "nonsense" does not exist')
  expect(await names(db)).toEqual(['0001_good.sql'])
  expect(await db`select to_regclass('half') as half, to_regclass('later') as later`).toEqual([
    { half: null, later: null },
  ])
})

test('a process killed in the middle of a migration leaves nothing, and the next one applies it', async () => {
  const { db, url } = await emptyDatabase()
  const slow = migrations({ '0001_slow.sql': 'create table slow (id int); select pg_sleep(3600);' })
  const child = fork(RUNNER, [url, slow], { stdio: 'pipe' })
  const working = () => db<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
  `
  await until('the migration is at work', async () => (await working()).length === 1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  // The server notices a lost client when the statement is over; here nobody wants to wait for that.
  await db`select pg_terminate_backend(pid) from (${working()}) as work`
  expect(await db`select to_regclass('slow') as slow`).toEqual([{ slow: null }])

  const quick = migrations({ '0001_slow.sql': 'create table slow (id int);' })
  expect(await migrate(db, quick)).toEqual(['0001_slow.sql'])
})

test('a later Parley’s migration is warned of, and refused when it is breaking', async () => {
  const { db } = await emptyDatabase()
  const later = { '0002_later.sql': 'create table later (id int);' }
  const all = migrations({ '0001_first.sql': 'create table first (id int);', ...later })
  const first = migrations({ '0001_first.sql': 'create table first (id int);' })
  await migrate(db, all)
  const warnings: string[] = []
  expect(await migrate(db, first, (message) => warnings.push(message))).toEqual([])
  expect(warnings).toEqual([expect.stringContaining('0002_later.sql')])

  await migrate(db, migrations({ '0003_break.sql': '--! breaking\ndrop table first;' }))
  const error = await migrate(db, all).catch((error: unknown) => error)
  expect(String(error)).toContain('0003_break.sql')
  expect(String(error)).toContain('start the later Parley')
})

test('a driver’s pool that is closed is an error, not a hang', async () => {
  const { url } = await createTestDatabase()
  const db = connect(url)
  await db.end()
  await expect(migrate(db)).rejects.toThrow()
})
