import { beforeAll, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase, readsOf } from '../../../test/database.ts'
import type { Pool } from '../../db/connect.ts'
import { searchText } from '../../people/contact-store.ts'
import { listContacts, matchContacts } from './contact-list.ts'
import { EXAMINED, sampleMatches } from './contact-list-store.ts'
import { searchTerms } from './contact-query.ts'

const CONTACTS = 200_000
/** The oldest contact's phone; all later contacts have other numbers in the same country. */
const PHONE = '393331234567'
const NAME = 'Unit 12-34-56'

let db: Pool
let companyId: number

beforeAll(async () => {
  ;({ db } = await createTestDatabase())
  companyId = await createTestCompany(db)
  const text = searchText({ firstName: NAME, lastName: null, email: null, phone: PHONE })
  await db`
    insert into contacts (company_id, first_name, phone, phone_identity, search_text, source, source_type, created_at)
    values (${companyId}, ${NAME}, ${PHONE}, ${PHONE}, ${text}, 'API', 'test', now() - interval '1 day')
  `
  await db`analyze contacts`
  await db`
    insert into contacts (company_id, phone, phone_identity, search_text, source, source_type, created_at)
    select ${companyId}, phone, phone, E'grace\n' || phone, 'API', 'test', now() + i * interval '1 ms'
    from (
      select i, '39333' || lpad((i::bigint * 7919 % 10000000)::text, 7, '0') as phone
      from generate_series(1, ${CONTACTS}::int) as i
    ) as contact
    where phone <> ${PHONE}
  `
  await db`analyze contacts`
}, 300_000)

test.each([
  '393331234567',
  '+39 333 123-4567',
  '+39 333 123 45 67',
  '+39 33 31 23 45 67',
  '(39) 33.31.23.45.67',
  '33 31 23 45 67',
  'unit 12-34',
])('the oldest of 200,000 contacts is found by %s on the first page, with a bounded number of contacts read', async (search) => {
  const { page, scanned, fetched } = await db.begin(async (tx) => {
    const before = await readsOf(tx, 'contacts')
    const found = await listContacts(tx, companyId, { page: 1, limit: 25, search, sort: '-created_at' })
    const after = await readsOf(tx, 'contacts')
    return { page: found, scanned: after.scanned - before.scanned, fetched: after.fetched - before.fetched }
  })
  expect(page).toMatchObject({ total: 1, totalIsExact: true, hasNext: false, contacts: [{ phone: PHONE }] })
  expect(scanned).toBe(0)
  expect(fetched).toBeLessThan(EXAMINED)
})

test('the index is not asked for what nearly every contact holds', async () => {
  const sample = (search: string) => sampleMatches(db, companyId, { terms: searchTerms(search), filter: {} })
  expect((await sample('+39 333 1234567')).rare.map(({ trigrams }) => trigrams)).toEqual([
    ['123', '456', '567'],
    ['331', '234', '567'],
  ])
  expect((await sample('+393331234567')).rare.map(({ trigrams }) => trigrams)).toEqual([['331', '234', '567']])
  expect((await sample('grace 39333')).rare.map(({ trigrams }) => trigrams)).toEqual([['gra', 'ace', '393', '333']])
})

test('a conversation of that contact is found by the phone with blanks too', async () => {
  expect(await matchContacts(db, companyId, '+39 33 31 23 45 67')).toMatchObject({ matches: [{ starts: true }] })
})

test('the ids of matching contacts are complete, or the texts are compared instead', async () => {
  // More candidates than are examined, not all of them matches.
  const company = await createTestCompany(db)
  await db`
    insert into contacts (company_id, search_text, source, source_type, created_at)
    select ${company}, case when i > 14600 then 'ada lovelace ' else 'lovelace ada ' end || i, 'API', 'test',
      now() + i * interval '1 ms'
    from generate_series(1, 15000) as i
  `
  await db`
    insert into contacts (company_id, search_text, source, source_type, created_at)
    select ${company}, 'grace ' || i, 'API', 'test', now() + interval '1 hour'
    from generate_series(1, 3000) as i
  `
  await db`analyze contacts`
  const matches = await matchContacts(db, company, 'ada lovelace')
  expect(matches).toEqual({ texts: ['ada lovelace'], matches: null })
}, 300_000)
