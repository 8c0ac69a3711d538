import { expect, onTestFinished, test } from 'vitest'
import { holdOpen } from '../../../test/held-locks.ts'
import { until } from '../../../test/parley-process.ts'
import { emptyDatabase, schema } from '../../../test/schema/migrations-world.ts'
import { connect, type Pool, type Transaction } from '../connect.ts'
import { migrate } from './migrate.ts'

/** A process of another version, as long as the test runs. */
async function joinAs(url: string, applicationName: string): Promise<{ db: Pool; leave(): Promise<void> }> {
  const db = connect(url, { max: 2, applicationName })
  await db`select`
  onTestFinished(() => db.end())
  return { db, leave: () => db.end() }
}

const TWO_TABLES = { '0001_tables.sql': 'create table a (id int); create table b (id int);' }

/** Runs a migration while a transaction has written `b`; once the migration waits for it, the transaction goes on. */
async function migrateBeside(db: Pool, text: string, goOn: (tx: Transaction) => Promise<unknown>): Promise<string[]> {
  const source = schema({ ...TWO_TABLES, '0002_change.sql': text })
  await migrate(db, { source: schema(TWO_TABLES) })
  let migrating: Promise<string[]> | undefined
  await db.begin(async (tx) => {
    await tx`insert into b values (1)`
    migrating = migrate(db, { source })
    await until('the migration waits', async () => (await waiting(db)) > 0)
    await goOn(tx)
  })
  return (await migrating) ?? []
}

const waiting = async (db: Pool): Promise<number> =>
  (
    await db`
      select from pg_locks
      where not granted and database = (select oid from pg_database where datname = current_database())
    `
  ).length

test.each([
  ['tables that it changes', 'alter table a add x int; alter table b add x int;', 'select from a'],
  ['tables that it writes', 'update a set id = 2; update b set id = 2;', 'insert into a values (1)'],
  ['an index that it makes', 'create index a_id on a (id); create index b_id on b (id);', 'insert into a values (1)'],
])('a migration gives way: a transaction meets no deadlock on %s', async (_, text, statement) => {
  const { db } = await emptyDatabase()
  const applied = await migrateBeside(db, text, async (tx) => {
    await tx.unsafe(statement)
    // As long as a session waits before it looks for deadlocks.
    await until('the migration began again', async () => (await waiting(db)) === 0)
    await tx.unsafe(statement)
  })
  expect(applied).toEqual(['0002_change.sql'])
})

const ADVISORY = 77

test('a migration that holds a table for a while lets no transaction that waits for it end as a deadlock', async () => {
  const { db } = await emptyDatabase()
  const release = await holdOpen(db, `select pg_advisory_xact_lock(${ADVISORY})`)
  const text = `alter table a add x int; select pg_advisory_xact_lock(${ADVISORY}); alter table b add x int;`
  const applied = await migrateBeside(db, text, async (tx) => {
    let isRead = false
    const reading = tx`select from a`.then(() => {
      isRead = true
    })
    // The transaction would look for a deadlock first, at a time when the migration waits for it, too.
    const waitsLong = async () =>
      (
        await db`
          select from pg_locks
          where not granted and relation = 'a'::regclass and mode = 'AccessShareLock' and waitstart < now() - interval '0.7 s'
        `
      ).length > 0
    await until('the transaction has read, or waits', async () => isRead || (await waitsLong()))
    await release()
    await reading
  })
  expect(applied).toEqual(['0002_change.sql'])
})

test('statements that need no lock of an earlier table run before the locks are taken', async () => {
  const { db } = await emptyDatabase()
  const source = schema({
    ...TWO_TABLES,
    '0002_copy.sql': 'create table c (id int);\ninsert into c select id from a;\nalter table b add x int;',
  })
  await migrate(db, { source: schema(TWO_TABLES) })
  await db`insert into a values (7)`
  expect(await migrate(db, { source })).toEqual(['0002_copy.sql'])
  expect(await db`select id from c`).toEqual([{ id: 7 }])
})

const answer = (text: string) => `create function answer(n int) returns int language sql as $$ select n + ${text} $$;`

test('a function with another text keeps its identity', async () => {
  const { db } = await emptyDatabase()
  const identity = async () => (await db`select 'answer(int)'::regprocedure::oid as oid, answer(1) as answer`)[0]
  await migrate(db, { source: schema({ 'sql/answer.sql': answer('1') }) })
  const before = await identity()
  await migrate(db, { source: schema({ 'sql/answer.sql': answer('2') }) })
  expect(await identity()).toEqual({ oid: before?.oid, answer: 3 })
})

test('functions of the version before stay while its processes are connected', async () => {
  const { db, url } = await emptyDatabase()
  const gone = 'create function gone() returns int language sql as $$ select 1 $$;'
  await migrate(db, { source: schema({ 'sql/answer.sql': answer('1'), 'sql/gone.sql': gone }) })
  const old = await joinAs(url, 'parley')
  const source = schema({ 'sql/answer.sql': answer('2').replace('n int', 'n int, of text') })
  await migrate(db, { source })
  expect(await old.db`select answer(1) as old, answer(1, 'a') as new, gone()`).toEqual([{ old: 2, new: 3, gone: 1 }])
  await old.leave()
  await until('they are dropped', async () => {
    await migrate(db, { source })
    return (await db`select from pg_proc where pronamespace = 'public'::regnamespace`).length === 1
  })
  expect(await db`select answer(1, 'a')`).toEqual([{ answer: 3 }])
})

test('a view with other columns is replaced', async () => {
  const { db } = await emptyDatabase()
  await migrate(db, { source: schema({ 'sql/seen.sql': 'create view seen as select 1 as a, 2 as b;' }) })
  await migrate(db, { source: schema({ 'sql/seen.sql': 'create view seen as select 1 as a, 3 as c, 2 as b;' }) })
  expect(await db`select * from seen`).toEqual([{ a: 1, c: 3, b: 2 }])
})

const BREAKING = { ...TWO_TABLES, '0002_break.sql': '--! breaking\ndrop table a;' }

test('a breaking migration refuses to start beside processes of other versions, and names them', async () => {
  const { db, url } = await emptyDatabase()
  await migrate(db, { source: schema(TWO_TABLES) })
  const old = await joinAs(url, 'parley 0.0.9+0123abcd web-1:4711')
  await joinAs(url, 'parley')
  const refusal = migrate(db, { source: schema(BREAKING) })
  await expect(refusal).rejects.toThrow(
    /0002_break\.sql breaks processes of other versions.*: 0\.1\.0 or earlier \(1 session.*\), 0\.0\.9\+0123abcd \(web-1:4711\)\. Nothing was changed/,
  )
  expect(await old.db`select from a`).toHaveLength(0)
  expect(await migrate(db, { source: schema(BREAKING), isForced: true })).toEqual(['0002_break.sql'])
})

test('a breaking migration starts as soon as the last process of another version is gone', async () => {
  const { db, url } = await emptyDatabase()
  await migrate(db, { source: schema(TWO_TABLES) })
  const old = await joinAs(url, 'parley 0.0.9 web-1:4711')
  const migrating = migrate(db, { source: schema(BREAKING) })
  await old.leave()
  expect(await migrating).toEqual(['0002_break.sql'])
})

test('a first start applies breaking migrations whoever is connected', async () => {
  const { db, url } = await emptyDatabase()
  await joinAs(url, 'parley')
  expect(await migrate(db, { source: schema(BREAKING) })).toEqual(['0001_tables.sql', '0002_break.sql'])
})
