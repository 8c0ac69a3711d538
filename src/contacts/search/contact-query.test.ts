import { beforeAll, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase, readsOf } from '../../../test/database.ts'
import { writeUnmirrored } from '../../../test/run/mirrors.ts'
import type { Pool } from '../../db/connect.ts'
import { upsertContacts } from '../write/contact-upsert.ts'
import { type ContactListRequest, listContacts } from './contact-list.ts'
import { EXAMINED } from './contact-list-store.ts'
import { type ContactFilter, readFilter } from './contact-query.ts'

const BY = { clientId: null, source: 'api' }
/** More than the sample, so that the index is used. */
const CONTACTS = 2_600
/** The contact with each searched value, outside the sample. */
const RARE = {
  email: 'rare@example.com',
  firstName: 'Rara',
  status: 'blocked',
  tags: ['vip', 'milano'],
  customFields: { TIER: 'gold', POINTS: 5, IS_MEMBER: true, 'A:B': 'x' },
  whatsappConsent: false,
  emailConsent: true,
}

let db: Pool
let companyId: number
let other: number

const list = (filter: ContactFilter, options: Partial<ContactListRequest> = {}, company = companyId) =>
  listContacts(db, company, { page: 1, limit: 25, search: '', sort: '-created_at', filter, ...options })
const found = async (filter: ContactFilter, options: Partial<ContactListRequest> = {}, company = companyId) =>
  (await list(filter, options, company)).contacts.map(({ email }) => email)

beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
  companyId = await createTestCompany(db)
  other = await createTestCompany(db)
  for (const company of [companyId, other]) {
    await upsertContacts(db, company, [company === other ? { ...RARE, email: 'other@example.com' } : RARE], BY)
  }
  const many = Array.from({ length: CONTACTS }, (_, i) => ({
    email: `m${i}@b.org`,
    tags: ['newsletter'],
    customFields: { TIER: 'silver', POINTS: i + 10 },
    ...(i % 2 === 0 && { emailConsent: true }),
  }))
  for (let at = 0; at < CONTACTS; at += 500) await upsertContacts(db, companyId, many.slice(at, at + 500), BY)
}, 300_000)

test.each<ContactFilter>([
  { status: 'blocked' },
  { tag: 'vip' },
  { tag: 'milano', status: 'blocked' },
  { field: { key: 'TIER', value: 'gold' } },
  { field: { key: 'POINTS', value: '5' } },
  { field: { key: 'IS_MEMBER', value: 'true' } },
  { field: { key: 'A:B', value: 'x' } },
  { whatsappConsent: false },
  { emailConsent: true, status: 'blocked' },
  { whatsappConsent: false, emailConsent: true, tag: 'vip', field: { key: 'TIER', value: 'gold' } },
])('%j finds one contact, in one company, in every order', async (filter) => {
  for (const sort of ['-created_at', 'created_at', '-updated_at', 'email'] as const) {
    expect(await found(filter, { sort })).toEqual(['rare@example.com'])
    expect(await found(filter, { sort }, other)).toEqual(['other@example.com'])
  }
  expect(await found(filter, { search: 'rara' })).toEqual(['rare@example.com'])
  expect(await found(filter, { search: 'r' })).toEqual(['rare@example.com'])
  expect(await found(filter, { search: 'grace' })).toEqual([])
  expect(await list(filter)).toMatchObject({ total: 1, totalIsExact: true })
})

test.each<ContactFilter>([
  { status: 'bloc' },
  { tag: 'vi' },
  { tag: 'vip', status: 'active' },
  { field: { key: 'TIER', value: 'Gold' } },
  { field: { key: 'POINTS', value: '5.5' } },
  { field: { key: 'NONE', value: '' } },
])('%j finds none', async (filter) => {
  expect(await list(filter)).toMatchObject({ total: 0, totalIsExact: true, contacts: [], nextCursor: null })
})

test.each<[ContactFilter, number]>([
  [{ emailConsent: true }, CONTACTS / 2 + 1],
  [{ emailConsent: null }, CONTACTS / 2],
  [{ whatsappConsent: null }, CONTACTS],
  [{ tag: 'newsletter', emailConsent: null }, CONTACTS / 2],
])('%j finds many, each once on the pages', async (filter, count) => {
  const first = await list(filter, { limit: 100 })
  expect(first).toMatchObject({ total: count, totalIsExact: true })
  const seen = [...first.contacts]
  let page = first
  while (page.nextCursor !== null) {
    const [, value, id] = JSON.parse(Buffer.from(page.nextCursor, 'base64url').toString())
    page = await list(filter, { limit: 100, cursor: { side: 'before', place: { value, id } } })
    seen.push(...page.contacts)
  }
  expect(new Set(seen.map(({ id }) => id)).size).toBe(count)
  expect(seen).toHaveLength(count)
})

test('a request examines 10,000 contacts at most, and reads few when few match', async () => {
  const company = await createTestCompany(db)
  await writeUnmirrored(
    db,
    (tx) => tx`
      insert into contacts (company_id, email, email_key, search_text, source, source_type, tags, status, email_consent, created_at)
      select ${company}, email, email, email, 'API', 'database',
        case when n <= 3 then '{rare}' when n % 2 = 0 then '{half}' else '{}' end::text[],
        case when n <= 3 then 'blocked' else 'active' end, case when n <= 3 then false end,
        now() + n * interval '1 second'
      from (select n, 'f' || n || '@example.com' as email from generate_series(1, 30000) as n) as input
    `,
  )
  await db`analyze contacts`
  const read = (filter: ContactFilter) =>
    db.begin(async (tx) => {
      const before = await readsOf(tx, 'contacts')
      const { total } = await listContacts(tx, company, { page: 1, limit: 25, search: '', sort: '-created_at', filter })
      const after = await readsOf(tx, 'contacts')
      return { total, scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched }
    })
  for (const filter of [
    { tag: 'rare' },
    { status: 'blocked' },
    { emailConsent: false },
    { tag: 'rare', status: 'blocked' },
  ]) {
    const { total, scanned, fetched } = await read(filter)
    expect([total, scanned], JSON.stringify(filter)).toEqual([3, 0])
    expect(fetched, JSON.stringify(filter)).toBeLessThan(5_000)
  }
  for (const filter of [{ tag: 'half' }, { status: 'active' }, { whatsappConsent: null }]) {
    const { scanned, fetched } = await read(filter)
    expect(scanned, JSON.stringify(filter)).toBe(0)
    expect(fetched, JSON.stringify(filter)).toBeLessThan(3 * EXAMINED + 5_000)
  }
})

test('every fault of a filter is named', () => {
  const { faults } = readFilter({ status: 'a\0', tag: 'x'.repeat(201), emailConsent: 'maybe', field: 'TIER' })
  expect(faults.map(({ path }) => path).toSorted()).toEqual(['emailConsent', 'field', 'status', 'tag'])
  expect(readFilter({ field: 'A:B:c', whatsappConsent: 'unknown', emailConsent: 'no' })).toEqual({
    faults: [],
    filter: { field: { key: 'A', value: 'B:c' }, whatsappConsent: null, emailConsent: false },
  })
})
