import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { ALL } from '../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { createCompany } from '../../test/world.ts'
import { keepOptOuts } from '../people/consent/consent-store.ts'
import { findContact, listContactsByIds } from '../people/contact-store.ts'
import { hasTwinWithoutEmail, readKnown, readMatches } from '../people/matching/identity-store.ts'
import { blankContact, eraseConsents, lastConsentId, readPerson } from '../people/person-erasure-store.ts'
import { readContactsAfter, readCustomKeys } from './export/contact-export.ts'
import { recordImportProgress } from './import/contact-import-store.ts'
import { eraseRefusals, expireImports, expireRefusals } from './import/import-expiry-store.ts'
import { addUpChanges, readContactCount } from './search/contact-list.ts'
import { readConsentHistory } from './timeline/contact-timeline.ts'

// Without mirrors, since a mirror's contact has the id under test.
const { db } = await createTestDatabase()
const EMAIL = 'ada@example.com'
const PHONE = '39333'
const OTHER = '39444'
// The other company's contact must have the lower id.
const [other, mine] = [await createCompany(db), await createCompany(db)]
const [otherId, mineId] = [await createContact(other), await createContact(mine)]

/** A contact with the same email, phone and other number of its customer in each company. */
async function createContact(companyId: number): Promise<number> {
  const [row] = await db<{ id: number }[]>`
    insert into contacts (company_id, email, email_key, phone, phone_identity, source, source_type)
    values (${companyId}, ${EMAIL}, ${EMAIL}, ${PHONE}, ${PHONE}, 'test', 'test')
    returning id
  `
  await db`insert into customers (company_id, id, contact_id) values (${companyId}, 1, ${row!.id})`
  for (const identity of [PHONE, OTHER]) {
    await db`
      insert into customer_identities (company_id, customer_id, identity, reported_at) values (${companyId}, 1, ${identity}, now())
    `
  }
  return row!.id
}

test.each([
  ['email', { emailKey: EMAIL, phoneIdentity: null }],
  ['phone', { emailKey: null, phoneIdentity: PHONE }],
  ['other number', { emailKey: null, phoneIdentity: OTHER }],
])('a contact is matched by its %s, though another company has an older one', async (_, named) => {
  const matches = await db.begin((tx) => readMatches(tx, mine, [named]))
  expect(matches?.map(({ id }) => id)).toEqual([mineId])
})

test('an erasure takes the identities that contacts of other companies have, too', async () => {
  const person = await readPerson(db, mine, mineId)
  expect(person).toMatchObject({ email: EMAIL, emailKey: EMAIL, identities: [PHONE, OTHER] })
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

/** Two companies whose contacts have the same id and phone, and other names. The second has one more with the phone. */
async function createContacts() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, PHONE, PHONE]],
    customers: [[1, 1, PHONE]],
    identities: [
      [PHONE, 1],
      [OTHER, 1],
    ],
  })
  await db`update contacts set first_name = 'Ada', email_key = ${EMAIL} where company_id = ${companyId}`
  await db`update contacts set first_name = 'Bob' where company_id = ${twinId}`
  await db`
    insert into contacts (company_id, id, phone, phone_identity, source, source_type)
    values (${twinId}, 2, ${PHONE}, ${PHONE}, 'test', 'test')
  `
  return { companyId, twinId }
}

test('a contact is found by its id in its company', async () => {
  const { companyId, twinId } = await createContacts()
  const names = [await findContact(db, companyId, 1), await findContact(db, twinId, 1)].map((one) => one?.firstName)
  expect(names).toEqual(['Ada', 'Bob'])
})

test('the history of consent is that of the company, under every identity of the contact', async () => {
  const { companyId, twinId } = await createContacts()
  for (const id of [companyId, twinId]) {
    for (const [identity, contactId] of [
      [PHONE, null],
      [OTHER, null],
      [null, 1],
    ] as const) {
      await db`
        insert into consents (company_id, channel, identity, contact_id, value, said_at, source)
        values (${id}, 'whatsapp', ${identity}, ${contactId}, true, now(), ${`of ${id}`})
      `
    }
  }
  for (const id of [companyId, twinId]) {
    const sources = (await readConsentHistory(db, id, 1)).map(({ source }) => source)
    expect(sources).toEqual(Array(3).fill(`of ${id}`))
  }
})

test('a contact has not changed since it was found, though one of another company has its id', async () => {
  const { companyId, twinId } = await createContacts()
  const named = [{ emailKey: null, phoneIdentity: PHONE }]
  for (const [id, name] of [[companyId, 'Ada'] as const, [twinId, 'Bob'] as const]) {
    const matches = await db.begin((tx) => readMatches(tx, id, named))
    expect(matches?.find((match) => match.id === 1)?.firstName).toBe(name)
  }
})

test('a contact may lose its email while only another company has one more contact with its phone', async () => {
  const { companyId, twinId } = await createContacts()
  expect(await hasTwinWithoutEmail(db, companyId, PHONE, 1)).toBe(false)
  expect(await hasTwinWithoutEmail(db, twinId, PHONE, 1)).toBe(true)
})

test('something may have been said by a person whom the company knows, not by one whom another knows', async () => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, PHONE, PHONE]],
    customers: [[1, 1, PHONE]],
    identities: [[PHONE, 1]],
  })
  const say = (id: number, identity: string) =>
    db`insert into consents (company_id, channel, identity, value, said_at, source) values (${id}, 'email', ${identity}, true, now(), 'test')`
  await say(twinId, 'mailto:ada@example.com')
  expect((await readKnown(db, companyId, [PHONE])).areKnown).toBe(false)
  await say(companyId, 'mailto:bob@example.com')
  expect((await readKnown(db, companyId, [PHONE])).areKnown).toBe(true)
  expect((await readKnown(db, companyId, ['39555', 'mailto:ada@example.com'])).areKnown).toBe(false)
  expect((await readKnown(db, companyId, ['39555', 'mailto:bob@example.com'])).areKnown).toBe(true)
})

test('changes are added up while another process has those of another company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) {
    await db`insert into contact_changes (company_id, id, change) overriding system value values (${id}, 1, 3)`
  }
  await db.begin(async (held) => {
    await held`select from contact_changes where company_id = ${twinId} for update`
    await db.begin(async (tx) => {
      await tx`set local lock_timeout = '1s'`
      await addUpChanges(tx)
    })
  })
  const counts = await db`select company_id, living from contact_counts where company_id in (${companyId}, ${twinId})`
  expect([...counts]).toEqual([{ companyId, living: 3 }])
})

test('an erasure takes the identities of the customer, and none of a customer of another company', async () => {
  const { companyId, twinId } = await createContacts()
  await db`
    insert into customer_identities (company_id, customer_id, identity, reported_at) values (${twinId}, 1, '39777', now())
  `
  expect((await readPerson(db, companyId, 1))?.identities).toEqual([PHONE, OTHER])
})

test('an erasure changes contacts, consents and refused rows of its company', async () => {
  const { companyId, twinId } = await createContacts()
  for (const id of [companyId, twinId]) {
    await db`
      insert into consents (company_id, channel, identity, contact_id, value, said_at, source)
      values (${id}, 'email', 'mailto:ada@example.com', 1, true, now(), 'test'), (${id}, 'whatsapp', ${PHONE}, 1, false, now(), 'test'),
        (${id}, 'whatsapp', '39999', 1, true, now(), 'test')
    `
    await db`
      insert into contact_imports (company_id, id, format, columns, size_bytes, rows, read_bytes, read_lines, status)
      values (${id}, 1, 'csv', '{phone}', 1, 1, 1, 1, 'completed')
    `
    await db`insert into contact_import_refusals values (${id}, 1, 2, 'is wrong', ${[PHONE]})`
  }
  await keepsRows(db, twinId, async () => {
    await keepOptOuts(db, companyId, [{ channel: 'whatsapp', identity: PHONE, saidAt: new Date(0) }])
    const lastId = await lastConsentId(db, companyId)
    expect(await eraseConsents(db, companyId, 1, [PHONE, 'mailto:ada@example.com'], lastId, 10)).toBe(3)
    await blankContact(db, companyId, 1)
    await eraseRefusals(db, companyId, [PHONE], undefined, 10)
  })
  expect((await findContact(db, companyId, 1))?.firstName).toBe(null)
  expect(await db`select from contact_import_refusals where company_id = ${companyId}`).toHaveLength(0)
  const consents = await db`
    select channel, identity, contact_id, value from consents where company_id = ${companyId} order by id
  `
  expect([...consents]).toEqual([
    // Another person's number.
    { channel: 'whatsapp', identity: '39999', contactId: null, value: true },
    { channel: 'whatsapp', identity: expect.stringMatching('^hash:'), contactId: null, value: false },
  ])
})

test('the progress of an import is that of its company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) {
    await db`
      insert into contact_imports (company_id, id, format, columns, size_bytes, rows, read_bytes, read_lines, status)
      values (${id}, 1, 'csv', '{email}', 100, 3, 10, 1, 'running')
    `
  }
  const progress = { from: 10, readBytes: 60, readLines: 3, created: 1, updated: 0, unchanged: 0, refusals: [] }
  expect(await keepsRows(db, twinId, () => recordImportProgress(db, companyId, 1, progress))).toBe(true)
})

test('an import is removed 90 days after its end, though another company has a newer one with its id and refused rows', async () => {
  const companies = [await createCompany(db), await createCompany(db), await createCompany(db)]
  for (const [place, days] of [91, 1, 91].entries()) {
    await db`
      insert into contact_imports (company_id, id, format, columns, size_bytes, rows, read_bytes, read_lines, status, ended_at)
      values (
        ${companies[place]!}, 1, 'csv', '{email}', 1, 1, 1, 1, 'completed', now() - make_interval(days => ${days})
      )
    `
  }
  const [, newer, refused] = companies
  for (const id of [newer!, refused!]) {
    await db`insert into contact_import_refusals values (${id}, 1, 2, 'is empty', '{}')`
  }
  await keepsRows(db, newer!, async () => {
    expect(await expireRefusals(db, ALL)).toBe(1)
    expect(await expireImports(db, ALL)).toBe(2)
  })
  expect([
    ...(await db`select company_id from contact_imports where company_id = any(${companies}::bigint[])`),
  ]).toEqual([{ companyId: newer }])
})

test('an export has a column for each custom field of contacts of its company', async () => {
  const { companyId, twinId } = await createContacts()
  await db`update contacts set custom_fields = '{"size": "M"}' where company_id = ${companyId}`
  await db`update contacts set custom_fields = '{"colour": "red"}' where company_id = ${twinId}`
  expect(await readCustomKeys(db, companyId, 10)).toEqual(['size'])
})
