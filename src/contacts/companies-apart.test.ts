import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { createCompany } from '../../test/world.ts'
import { blankContact, eraseConsents, eraseRefusals, hashOptOuts, readPerson } from './contact-erasure-store.ts'
import { findContact, forgetAliases, listContactsByIds } from './contact-store.ts'
import { readContactsAfter, readCustomKeys } from './export/contact-export-store.ts'
import { expireImports, recordImportProgress } from './import/contact-import-store.ts'
import { hasTwinWithoutEmail, readMatches } from './matching/identity-store.ts'
import { addUpChanges, readContactCount } from './search/contact-count-store.ts'

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

/** Two companies whose contacts have the same id and phone, and other names. The second has one more with the phone. */
async function createContacts() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, PHONE, PHONE]],
    contactAliases: [[ALIAS, 1]],
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

test('a contact has not changed since it was found, though one of another company has its id', async () => {
  const { companyId, twinId } = await createContacts()
  const named = [{ emailKey: null, phoneIdentity: PHONE }]
  for (const [id, name] of [[companyId, 'Ada'] as const, [twinId, 'Bob'] as const]) {
    const matches = await db.begin((tx) => readMatches(tx, id, named))
    expect(matches?.map(({ firstName }) => firstName)).toEqual([name])
  }
})

test('a contact may lose its email while only another company has one more contact with its phone', async () => {
  const { companyId, twinId } = await createContacts()
  expect(await hasTwinWithoutEmail(db, companyId, PHONE, 1)).toBe(false)
  expect(await hasTwinWithoutEmail(db, twinId, PHONE, 1)).toBe(true)
})

test('an alias is forgotten in its company', async () => {
  const { companyId, twinId } = await createContacts()
  await keepsRows(db, twinId, () => forgetAliases(db, companyId, [{ id: 1, identity: ALIAS }]))
  expect(await db`select from contact_aliases where company_id = ${companyId}`).toHaveLength(0)
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

test('an erasure takes the aliases of the contact, and none of a contact of another company', async () => {
  const { companyId, twinId } = await createContacts()
  await db`insert into contact_aliases values (${twinId}, '39777', 1)`
  expect((await readPerson(db, companyId, 1))?.identities).toEqual([PHONE, ALIAS])
})

test('an erasure changes contacts, consents, opt-outs and refused rows of its company', async () => {
  const { companyId, twinId } = await createContacts()
  for (const id of [companyId, twinId]) {
    await db`
      insert into consent_changes (company_id, id, contact_id, channel, value, source)
      overriding system value
      values (${id}, 1, 1, 'email', true, 'test')
    `
    await db`insert into opt_outs (company_id, channel, identity) values (${id}, 'whatsapp', ${PHONE})`
    await db`
      insert into contact_imports (company_id, id, format, columns, size_bytes, rows, read_bytes, read_lines, status)
      values (${id}, 1, 'csv', '{phone}', 1, 1, 1, 1, 'completed')
    `
    await db`insert into contact_import_refusals values (${id}, 1, 2, 'is wrong', ${[PHONE]})`
  }
  await keepsRows(db, twinId, async () => {
    await blankContact(db, companyId, 1)
    await eraseConsents(db, companyId, 1, 10)
    await hashOptOuts(db, companyId, [PHONE])
    await eraseRefusals(db, companyId, [PHONE], undefined, 10)
  })
  expect((await findContact(db, companyId, 1))?.firstName).toBe(null)
  for (const table of ['consent_changes', 'contact_import_refusals']) {
    expect(await db`select from ${db(table)} where company_id = ${companyId}`).toHaveLength(0)
  }
  const [optOut] = await db`select identity from opt_outs where company_id = ${companyId}`
  expect(optOut).toEqual({ identity: expect.stringMatching('^hash:') })
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
  await keepsRows(db, newer!, () => expireImports(db, 100))
  expect([
    ...(await db`select company_id from contact_imports where company_id = any(${companies}::bigint[])`),
  ]).toEqual([{ companyId: newer }])
})

test('a number and a user id lead to those of the company when they move', async () => {
  const { companyId, twinId } = await createTwins(db)
  const at = new Date('2026-01-03T00:00:00Z')
  for (const [id, contactId] of [[companyId, 1] as const, [twinId, 2] as const]) {
    await db`
      insert into contacts (company_id, id, phone, phone_identity, source, source_type)
      values (${id}, ${contactId}, ${PHONE}, ${PHONE}, 'test', 'test')
    `
    await db`insert into customer_user_ids values (${id}, ${`39${contactId}`}, 'IT.1', ${at})`
  }
  const partnersOf = (id: number) => db`select identity from partners_of(array[row(${id}, 'IT.1')::customer_key])`
  expect([...(await partnersOf(companyId)), ...(await partnersOf(twinId))]).toEqual([
    { identity: '391' },
    { identity: '392' },
  ])
  const move = (id: number) => db`select move_contact(${id}, ${PHONE}, '39888', '39888', ${at})::integer as contact`
  const moved = [await keepsRows(db, twinId, () => move(companyId)), await keepsRows(db, companyId, () => move(twinId))]
  expect(moved.map(([row]) => row?.contact)).toEqual([1, 2])
})

test('an opt-out is kept under the aliases that the contact has in its company', async () => {
  const { companyId, twinId } = await createContacts()
  await db`update contact_aliases set identity = '39777' where company_id = ${twinId}`
  const refusal = [{ contact_id: 1, channel: 'whatsapp', value: false }]
  await db`select record_consents(${companyId}, ${db.json(refusal)}, null, 'test')`
  const kept = await db`select identity from opt_outs where company_id = ${companyId} order by identity`
  expect(kept.map(({ identity }) => identity)).toEqual([PHONE, ALIAS])
})

test('an export has a column for each custom field of contacts of its company', async () => {
  const { companyId, twinId } = await createContacts()
  await db`update contacts set custom_fields = '{"size": "M"}' where company_id = ${companyId}`
  await db`update contacts set custom_fields = '{"colour": "red"}' where company_id = ${twinId}`
  expect(await readCustomKeys(db, companyId, 10)).toEqual(['size'])
})
