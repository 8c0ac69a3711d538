import { beforeAll, expect, test } from 'vitest'
import type { Pool } from '../../src/db/connect.ts'
import { createTestDatabase } from '../database.ts'

/** Tables that belong to no company, and why. Everything else is a company's, and says so first. */
const GLOBAL: Record<string, string> = {
  migrations: 'the ledger',
  sql_objects: 'the ledger of functions, views and types',
  companies: 'the companies themselves',
  api_keys: 'how a request finds its company',
  console_sessions: 'how a request of the console finds its company',
  sign_in_links: 'how a sign-in finds its company',
  sender_routes: 'how an event finds its company',
  inbound_events: 'raw events, not read yet',
  inbound_bodies: 'the bytes of raw events',
  inbound_items: 'items of which the company is not known, or which failed',
  live_listeners: 'processes with open streams of any company',
  jobs: 'work of any company, claimed across all of them',
  service_secrets: 'keys of the service itself',
  rate_limits: 'counts by company or by address',
  unhandled_counts: 'counts by address',
  content_passes: 'passes of a sweep over all companies',
  mailbox_passes: 'passes of a sweep over all companies',
  operator_keys: 'keys of the operator',
  search_passes: 'passes of a sweep over all companies',
}

/** Unique keys of company tables that are global on purpose. */
const GLOBAL_KEYS: Record<string, string> = {
  deliveries_pkey: 'leased by id, as jobs are; statements of a company name it as well',
}

let db: Pool
beforeAll(async () => {
  ;({ db } = await createTestDatabase())
})

type Key = { relation: string; key: string; firstColumn: string }

const companyTables = async (): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    order by relname
  `
  return rows.map(({ name }) => name).filter((name) => !(name in GLOBAL))
}

test('every table is a company’s, or named here as global', async () => {
  const tables = await companyTables()
  const rows = await db<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'company_id' and is_nullable = 'NO'
  `
  const withCompany = new Set(rows.map(({ name }) => name))
  expect(tables.filter((name) => !withCompany.has(name))).toEqual([])
  expect(tables.length).toBeGreaterThan(5)
})

test('company_id stands first in every primary and unique key of a company’s table', async () => {
  const tables = await companyTables()
  const keys = await db<Key[]>`
    select relation.relname as relation, key.relname as key, attribute.attname as first_column
    from pg_index index
    join pg_class relation on relation.oid = index.indrelid
    join pg_class key on key.oid = index.indexrelid
    join pg_attribute attribute on attribute.attrelid = relation.oid and attribute.attnum = index.indkey[0]
    where index.indisunique and relation.relname = any(${tables})
  `
  expect(keys.filter(({ firstColumn, key }) => firstColumn !== 'company_id' && !(key in GLOBAL_KEYS))).toEqual([])
  expect(new Set(keys.map(({ relation }) => relation))).toEqual(new Set(tables))
})

test('company_id stands first in every foreign key between companies’ tables', async () => {
  const rows = await db<Key[]>`
    select conrelid::regclass::text as relation, conname as key, attribute.attname as first_column
    from pg_constraint
    join pg_attribute attribute on attribute.attrelid = conrelid and attribute.attnum = conkey[1]
    where contype = 'f' and conrelid::regclass::text = any(${await companyTables()})
  `
  expect(rows.filter(({ firstColumn }) => firstColumn !== 'company_id')).toEqual([])
  expect(rows.length).toBeGreaterThan(5)
})
