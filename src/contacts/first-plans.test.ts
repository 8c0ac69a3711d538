import { expect, test } from 'vitest'
import { countIndexReads } from '../../test/conversations/index-reads.ts'
import { createTestDatabase } from '../../test/database.ts'
import { connect, type Pool } from '../db/connect.ts'
import type { ContactWrite } from '../people/contact-record.ts'
import { upsertContacts } from './write/contact-upsert.ts'

const BY = { clientId: null, source: 'api' }

/** Counts the contacts read by an upsert, including every index entry. */
const readsOf = (one: Pool, companyId: number, writes: ContactWrite[]) =>
  countIndexReads(one, 'contacts', () => upsertContacts(one, companyId, writes, BY))

async function addCompany(one: Pool): Promise<number> {
  const [company] = await one<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
  return company!.id
}

const addContacts = (one: Pool, companyId: number, from: number, to: number) => one`
  insert into contacts (company_id, email, email_key, phone, phone_identity, search_text, source, source_type)
  select ${companyId}, email, email, '39444' || n, '39444' || n, email, 'API', 'database'
  from (select n, 'known' || n || '@example.com' as email from generate_series(${from}::int, ${to}::int) as n) as existing
`

const thirty = (name: string, more: ContactWrite = {}): ContactWrite[] =>
  Array.from({ length: 30 }, (_, i) => ({
    email: `${name}${i}@example.com`,
    phone: `39333${name.length}${1000 + i}`,
    ...more,
  }))

test('a plan that was made for few contacts finds contacts among many', async () => {
  const { url } = await createTestDatabase()
  const one = connect(url, { max: 1 })
  const company = await addCompany(one)
  await addContacts(one, company, 10_001, 10_200)
  await upsertContacts(one, company, thirty('a'), BY)
  await addContacts(one, company, 10_201, 15_000)
  expect(await readsOf(one, company, thirty('bb'))).toBeLessThan(5_000)
  await one.end()
})

test('contacts of a company that is newer than the statistics are found by their keys', async () => {
  const { url } = await createTestDatabase()
  const one = connect(url, { max: 1 })
  await addContacts(one, await addCompany(one), 10_001, 15_000)
  await one`analyze contacts`
  const company = await addCompany(one)
  await addContacts(one, company, 10_001, 13_000)
  expect(await readsOf(one, company, thirty('a'))).toBeLessThan(3_000)
  const updates = thirty('a', { firstName: 'Ada', emailConsent: false })
  expect(await readsOf(one, company, updates)).toBeLessThan(3_000)
  await one.end()
})

test('a large batch is planned for the contacts that are there, whatever single upserts planned before', async () => {
  const { url } = await createTestDatabase()
  const one = connect(url, { max: 1 })
  const company = await addCompany(one)
  for (const name of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) {
    for (const firstName of ['Ada', 'Bea'])
      await upsertContacts(one, company, [{ email: `${name}@example.com`, firstName }], BY)
  }
  await addContacts(one, company, 10_001, 13_000)
  expect(await readsOf(one, company, thirty('a'))).toBeLessThan(3_000)
  const updates = thirty('a', { firstName: 'Ada', emailConsent: false })
  expect(await readsOf(one, company, updates)).toBeLessThan(3_000)
  await one.end()
})
