import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { MIGRATE_LOCK } from '../advisory-locks.ts'
import type { Db } from '../connect.ts'
import { createLedgers, readMigrations } from './ledger.ts'
import { checkStillKnown } from './migrate.ts'
import { locksOf, takeLocks } from './table-locks.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

/** The tables that this transaction locks against writers, with partitions and those of its own. */
const listLocked = async (db: Db): Promise<string[]> =>
  (
    await db<{ name: string }[]>`
      select distinct relation.relname as name
      from pg_locks held
      join pg_class relation on relation.oid = held.relation
      where held.pid = pg_backend_pid() and held.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        and relation.relkind in ('r', 'p') and relation.relnamespace = 'public'::regnamespace
      order by 1
    `
  ).map(({ name }) => name)

const listTables = async (db: Db): Promise<Set<string>> =>
  new Set(
    (
      await db<{ name: string }[]>`select relname as name from pg_class where relnamespace = 'public'::regnamespace`
    ).map(({ name }) => name),
  )

test('every migration locks earlier tables only at once, before it changes anything', async () => {
  const { db } = await createTestDatabase()
  await db.unsafe('drop schema public cascade; create schema public')
  await createLedgers(db)
  const late: string[] = []
  for (const { name, text } of await readMigrations(MIGRATIONS)) {
    const before = await listTables(db)
    await db.begin(async (tx) => {
      const { from, ...locks } = locksOf(text)
      await tx.unsafe(text.slice(0, from))
      const early = await listLocked(tx)
      await takeLocks(tx, locks)
      const taken = new Set(await listLocked(tx))
      await tx.unsafe(text.slice(from))
      const all = await listLocked(tx)
      const missed = [...early, ...all.filter((table) => !taken.has(table))].filter((table) => before.has(table))
      late.push(...missed.map((table) => `${name}: ${table}`))
    })
  }
  expect(late).toEqual([])
})

test.each<[string, string[], string[]]>([
  ['alter table a add b int; drop table c', ['a', 'c'], []],
  ['create index a_b on a (b); update only d set x = 1; insert into e values (1)', [], ['a', 'd', 'e']],
  ['-- alter table a\ncreate table n (id int references f on delete set null)', [], ['f']],
  ['insert into k select 1 on conflict do update set x = 1', [], ['k']],
])('%s', (text, exclusive, written) => {
  expect(locksOf(text)).toMatchObject({ exclusive, written })
})

test('statements before the first lock are a part of their own', () => {
  const text = 'create table n (id int);\nalter table a add b int;\nselect 1;'
  expect(text.slice(locksOf(text).from).trim()).toBe('alter table a add b int;\nselect 1;')
  expect(locksOf('create function f() as $$ select 1; $$;\nalter table a add b int;').from).toBe(0)
})

test('a process that starts during a migration waits for it, and ends when it is of a later version', async () => {
  const { db } = await createTestDatabase()
  const applied = Promise.withResolvers<void>()
  const isLocked = Promise.withResolvers<void>()
  const migrating = db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${MIGRATE_LOCK})`
    await tx`insert into migrations (name, breaking, checksum) values ('9999_later.sql', true, '')`
    isLocked.resolve()
    await applied.promise
  })
  await isLocked.promise
  const check = checkStillKnown(db, false)
  applied.resolve()
  await expect(check).rejects.toThrow("9999_later.sql, which this Parley doesn't know and can't run on")
  await migrating
})
