import { beforeAll, expect, test } from 'vitest'
import type { Pool } from '../../src/db/connect.ts'
import { TABLES } from '../../src/db/tables.ts'
import { createTestDatabase } from '../database.ts'

/** Unique keys of company tables that are global on purpose. */
const GLOBAL_KEYS: Record<string, string> = {
  deliveries_pkey: 'leased by id, as jobs are; statements of a company name it as well',
}

let db: Pool
beforeAll(async () => {
  ;({ db } = await createTestDatabase())
})

type Key = { relation: string; key: string; firstColumn: string }

const companyTables = TABLES.filter(({ global }) => global === undefined).map(({ name }) => name)

test('every table is in the registry, once', async () => {
  const rows = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  `
  expect(TABLES.map(({ name }) => name).toSorted()).toEqual(rows.map(({ name }) => name).toSorted())
})

test('rows expire by age as the table comment says', async () => {
  const rows = await db<{ name: string; comment: string }[]>`
    select relname as name, obj_description(oid, 'pg_class') as comment from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  `
  for (const { name, expires } of TABLES) {
    if (expires === undefined || expires.hours === 0 || expires.setting !== undefined) continue
    const comment = rows.find((row) => row.name === name)?.comment ?? ''
    const [, count, unit] = /(\d+) (hours|days)/.exec(comment) ?? []
    expect([name, Number(count) * (unit === 'days' ? 24 : 1)]).toEqual([name, expires.hours])
  }
})

test('moved tables follow the tables that they refer to', async () => {
  const moved = TABLES.filter(({ stays }) => stays === undefined).map(({ name }) => name)
  const keys = await db<{ relation: string; target: string }[]>`
    select conrelid::regclass::text as relation, confrelid::regclass::text as target
    from pg_constraint
    where contype = 'f' and conrelid <> confrelid and conrelid::regclass::text = any(${moved})
  `
  expect(keys.filter(({ relation, target }) => moved.indexOf(relation) < moved.indexOf(target))).toEqual([])
  expect(keys.length).toBeGreaterThan(5)
})

test('every table is a company’s, or global', async () => {
  const rows = await db<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'company_id' and is_nullable = 'NO'
  `
  const withCompany = new Set(rows.map(({ name }) => name))
  expect(companyTables.filter((name) => !withCompany.has(name))).toEqual([])
  expect(companyTables.length).toBeGreaterThan(5)
})

test('company_id stands first in every primary and unique key of a company’s table', async () => {
  const keys = await db<Key[]>`
    select relation.relname as relation, key.relname as key, attribute.attname as first_column
    from pg_index index
    join pg_class relation on relation.oid = index.indrelid
    join pg_class key on key.oid = index.indexrelid
    join pg_attribute attribute on attribute.attrelid = relation.oid and attribute.attnum = index.indkey[0]
    where index.indisunique and relation.relname = any(${companyTables})
  `
  expect(keys.filter(({ firstColumn, key }) => firstColumn !== 'company_id' && !(key in GLOBAL_KEYS))).toEqual([])
  expect(new Set(keys.map(({ relation }) => relation))).toEqual(new Set(companyTables))
})

test('company_id stands first in every foreign key between companies’ tables', async () => {
  const rows = await db<Key[]>`
    select conrelid::regclass::text as relation, conname as key, attribute.attname as first_column
    from pg_constraint
    join pg_attribute attribute on attribute.attrelid = conrelid and attribute.attnum = conkey[1]
    where contype = 'f' and conrelid::regclass::text = any(${companyTables})
  `
  expect(rows.filter(({ firstColumn }) => firstColumn !== 'company_id')).toEqual([])
  expect(rows.length).toBeGreaterThan(5)
})
