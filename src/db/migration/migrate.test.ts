import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { emptyDatabase, names, schema } from '../../../test/schema/migrations-world.ts'
import { StartError } from '../../platform/start-error.ts'
import { connect } from '../connect.ts'
import { migrate } from './migrate.ts'
import { readSqlObjects } from './sql-object.ts'

test('a second run applies nothing', async () => {
  const { db } = await createTestDatabase()
  expect(await migrate(db)).toEqual([])
})

test('a migration that fails leaves nothing, names itself, and those before it stay', async () => {
  const { db } = await emptyDatabase()
  const folder = schema({
    '0001_good.sql': 'create table good (id int);',
    '0002_bad.sql': 'create table half (id int); select nonsense;',
    '0003_later.sql': 'create table later (id int);',
  })
  const error = await migrate(db, { source: folder }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).toContain('0002_bad.sql failed and left nothing behind: column "nonsense" does not exist')
  expect(await names(db)).toEqual(['0001_good.sql'])
  expect(await db`select to_regclass('half') as half, to_regclass('later') as later`).toEqual([
    { half: null, later: null },
  ])
})

test('a later Parley’s migration is refused, and warned of where it is allowed unless it is breaking', async () => {
  const { db } = await emptyDatabase()
  const later = { '0002_later.sql': 'create table later (id int);' }
  const all = schema({ '0001_first.sql': 'create table first (id int);', ...later })
  const first = schema({ '0001_first.sql': 'create table first (id int);' })
  await migrate(db, { source: all })
  await expect(migrate(db, { source: first })).rejects.toThrow(
    "0002_later.sql, which this Parley doesn't know: start the later Parley that made it, or set NEWER_SCHEMA=allow",
  )
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  expect(await migrate(db, { source: first, warn, allowsNewer: true })).toEqual([])
  expect(warnings).toEqual([expect.stringContaining('0002_later.sql')])

  await migrate(db, { source: schema({ '0003_break.sql': '--! breaking\ndrop table first;' }), allowsNewer: true })
  const error = await migrate(db, { source: all, allowsNewer: true }).catch((error: unknown) => error)
  expect(String(error)).toContain('0003_break.sql')
  expect(String(error)).toContain('start the later Parley')
})

test('a driver’s pool that is closed is an error, not a hang', async () => {
  const { url } = await createTestDatabase()
  const db = connect(url)
  await db.end()
  await expect(migrate(db)).rejects.toThrow()
})

test('a function follows its file: changed text, another signature, a deleted file', async () => {
  const { db } = await emptyDatabase()
  const table = { '0001_first.sql': 'create table first (id int);' }
  const one = 'create function answer() returns int language sql as $$ select 1 $$;'
  await migrate(db, { source: schema({ ...table, 'sql/answer.sql': one }) })
  expect(await db`select answer()`).toEqual([{ answer: 1 }])

  const two = "create function answer(of text) returns text language sql as $$ select of || '2' $$;"
  await migrate(db, { source: schema({ ...table, 'sql/answer.sql': two }) })
  expect(await db`select answer('a')`).toEqual([{ answer: 'a2' }])
  await expect(db`select answer()`).rejects.toThrow('does not exist')

  await migrate(db, { source: schema(table) })
  await expect(db`select answer('a')`).rejects.toThrow('does not exist')
})

test('a function that fails names itself and leaves those before it', async () => {
  const { db } = await emptyDatabase()
  const good = 'create function good() returns int language sql as $$ select 1 $$;'
  await migrate(db, { source: schema({ 'sql/good.sql': good }) })
  const broken = schema({
    'sql/good.sql': good.replace('1', '2'),
    'sql/bad.sql': 'create function bad() returns nonsense;',
  })
  const error = await migrate(db, { source: broken }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).toContain('src/sql/bad.sql cannot be created, and nothing was changed')
  expect(await db`select good()`).toEqual([{ good: 1 }])
})

test('the functions of a later Parley stay', async () => {
  const { db } = await emptyDatabase()
  const first = { '0001_first.sql': 'create table first (id int);' }
  const later = 'create function answer() returns int language sql as $$ select 2 $$;'
  await migrate(db, {
    source: schema({ ...first, '0002_later.sql': 'create table later (id int);', 'sql/answer.sql': later }),
  })
  await migrate(db, { source: schema({ ...first, 'sql/answer.sql': later.replace('2', '1') }), allowsNewer: true })
  expect(await db`select answer()`).toEqual([{ answer: 2 }])
})

test('a database from before the baseline is refused with the way to start again', async () => {
  const { db } = await emptyDatabase()
  await migrate(db, { source: schema({ '0001_companies.sql': 'create table companies (id int);' }) }).catch(() => {})
  const error = await migrate(db).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).toContain('start again with an empty DATA_DIR')
})

test('a database whose migration had another text is refused with the way to start again', async () => {
  const { db } = await emptyDatabase()
  await migrate(db, { source: schema({ '0001_first.sql': 'create table first (id int);' }) })
  const edited = schema({ '0001_first.sql': 'create table first (id bigint);' })
  const error = await migrate(db, { source: edited }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).toContain('start again with an empty DATA_DIR')
})

test('files and catalogue are equal: each function, view and type has its one file', async () => {
  const { db } = await createTestDatabase()
  const objects = await readSqlObjects(fileURLToPath(new URL('../../', import.meta.url)))
  const bodies = await db<{ name: string; body: string }[]>`
    select proname as name, prosrc as body
    from pg_proc function
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where objid = function.oid and deptype = 'e')
    order by proname
  `
  const files = objects.filter(({ kind }) => kind === 'function')
  const bodyOf = (text: string) => text.slice(text.indexOf('$$') + 2, text.lastIndexOf('$$'))
  expect(Object.fromEntries(bodies.map(({ name, body }) => [name, body]))).toEqual(
    Object.fromEntries(files.map(({ name, text }) => [name, bodyOf(text)])),
  )
  const others = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('v', 'c', 'm')
    order by relname
  `
  expect(others.map(({ name }) => name)).toEqual(
    objects
      .filter(({ kind }) => kind !== 'function')
      .map(({ name }) => name)
      .sort(),
  )
  const triggers = await db`select tgname from pg_trigger where not tgisinternal`
  expect(triggers).toEqual([])
})
