import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { readPerson } from './contact-erasure-store.ts'
import { listContactsByIds } from './contact-store.ts'
import { readContactsAfter } from './export/contact-export-store.ts'
import { readMatches } from './matching/identity-store.ts'
import { readContactCount } from './search/contact-count-store.ts'

// Without mirrors: the mirror's contact has the id that is looked for.
const { db } = await createTestDatabase()
const EMAIL = 'ada@example.com'
const PHONE = '39333'
const ALIAS = '39444'
// The other company's contact comes first: it has the lower id.
const [other, mine] = [await createCompany(db), await createCompany(db)]
const [otherId, mineId] = [await createContact(other), await createContact(mine)]

/** A contact with the same email, phone and alias in each company. */
async function createContact(companyId: number): Promise<number> {
  const [row] = await db<{ id: number }[]>`
    insert into contacts (company_id, email, email_key, phone, phone_identity, source, source_type)
    values (${companyId}, ${EMAIL}, ${EMAIL}, ${PHONE}, ${PHONE}, 'test', 'test')
    returning id
  `
  await db`insert into contact_aliases (company_id, identity, contact_id) values (${companyId}, ${ALIAS}, ${row!.id})`
  return row!.id
}

test.each([
  ['email', { emailKey: EMAIL, phoneIdentity: null }],
  ['phone', { emailKey: null, phoneIdentity: PHONE }],
  ['alias', { emailKey: null, phoneIdentity: ALIAS }],
])('a contact is matched by its %s, though another company has an older one', async (_, named) => {
  const matches = await db.begin((tx) => readMatches(tx, mine, [named]))
  expect(matches?.map(({ id }) => id)).toEqual([mineId])
})

test('an erasure takes the identities that contacts of other companies have, too', async () => {
  const person = await readPerson(db, mine, mineId)
  expect(person).toMatchObject({ email: EMAIL, emailKey: EMAIL, identities: [PHONE, ALIAS] })
})

test('an export reads contacts of its company', async () => {
  expect((await readContactsAfter(db, mine, 0, 10)).map(({ id }) => id)).toEqual([mineId])
})

test('contacts with some ids are those of the company', async () => {
  expect((await listContactsByIds(db, mine, [otherId, mineId])).map(({ id }) => id)).toEqual([mineId])
})

test('contacts are counted for each company', async () => {
  await db`insert into contact_counts (company_id, living) values (${other}, 5), (${mine}, 7)`
  await db`insert into contact_changes (company_id, change) values (${other}, 1), (${mine}, 2)`
  expect([await readContactCount(db, other), await readContactCount(db, mine)]).toEqual([6, 9])
})

test('an alias belongs to its contact, though a contact of another company has that number', async () => {
  await db`update contacts set phone_identity = ${ALIAS} where (company_id, id) = (${other}, ${otherId})`
  const rows = await db`
    select contact_id from contact_identities where company_id = ${mine} and identity = ${ALIAS}
  `
  expect([...rows]).toEqual([{ contactId: mineId }])
})
