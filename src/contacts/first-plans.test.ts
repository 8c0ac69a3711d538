import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { connect } from '../db/connect.ts'
import type { ContactWrite } from './contact-record.ts'
import { upsertContacts } from './contact-upsert.ts'

const BY = { clientId: null, source: 'api' }

test('a plan that was made for few contacts finds contacts among many', async () => {
  const { url } = await createTestDatabase()
  const one = connect(url, { max: 1 })
  const readByIndex = async (): Promise<number> => {
    await one`select pg_stat_force_next_flush()`
    const [row] = await one<{ read: number }[]>`
      select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = 'contacts'
    `
    return row!.read
  }
  const strangers = (name: string): ContactWrite[] =>
    Array.from({ length: 30 }, (_, i) => ({
      email: `${name}${i}@example.com`,
      phone: `39333${name.length}${1000 + i}`,
    }))
  const [company] = await one<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
  const add = (from: number, to: number) => one`
    insert into contacts (company_id, email, email_key, phone, phone_identity, search_text, source, source_type)
    select ${company!.id}, email, email, '39444' || n, '39444' || n, email, 'API', 'database'
    from (select n, 'known' || n || '@example.com' as email from generate_series(${from}::int, ${to}::int) as n) as known
  `
  await add(10_001, 10_200)
  await upsertContacts(one, company!.id, strangers('a'), BY)
  await add(10_201, 15_000)
  const before = await readByIndex()
  await upsertContacts(one, company!.id, strangers('bb'), BY)
  expect((await readByIndex()) - before).toBeLessThan(5_000)
  await one.end()
})
