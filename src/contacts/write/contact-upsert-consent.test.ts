import fc from 'fast-check'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import type { Pool } from '../../db/connect.ts'
import { recordPreferences } from '../../people/consent/preference.ts'
import { latestConsents } from '../../people/consent/shown-consent.ts'
import type { Contact, ContactWrite } from '../../people/contact-record.ts'
import { insertCustomerContacts, takeContactIds } from '../../people/contact-store.ts'
import { removeContact, updateContact } from '../contact.ts'
import { exportContacts } from '../export/contact-export.ts'
import { lineToBody, type RowBody } from './contact-columns.ts'
import { prepareRows, upsertContacts, upsertRows } from './contact-upsert.ts'
import { readContactRow } from './contact-write.ts'

const BY = { clientId: null, source: 'api' }

let db: Pool
beforeAll(async () => {
  db = (await createTestDatabase({ mirrors: true })).db
})

async function newCompany(): Promise<number> {
  const [row] = await db<{ id: number }[]>`insert into companies (name) values ('Ada') returning id`
  return row!.id
}

test('a contact matched by phone that takes another email keeps no email consent', async () => {
  const companyId = await newCompany()
  const phone = '393331110009'
  const write = async (input: ContactWrite) => (await upsertContacts(db, companyId, [input], BY))[0]!
  const first = await write({ email: 'a@x.org', phone, emailConsent: true, whatsappConsent: true })
  const other = await write({ email: 'b@x.org', phone })
  expect(other).toMatchObject({ id: first.id, email: 'b@x.org', emailConsent: null, whatsappConsent: true })
  const [kept] = await db`select email_consent from contacts where (company_id, id) = (${companyId}, ${first.id})`
  expect(kept).toEqual({ emailConsent: null })
  expect(await write({ email: 'b@x.org', phone, emailConsent: true })).toMatchObject({ emailConsent: true })
  expect(await write({ email: 'B@x.org', phone })).toMatchObject({ emailConsent: true })
  expect(await write({ email: 'c@x.org', phone, emailConsent: false })).toMatchObject({ emailConsent: false })
})

describe('an array and an imported list act as their rows would, one after the other:', () => {
  /** Returns each contact's consent after writing rows together, and one by one. */
  async function together(rows: readonly ContactWrite[], before: readonly ContactWrite[] = []) {
    const ends = []
    for (const isTogether of [true, false]) {
      const companyId = await newCompany()
      for (const write of before) await upsertContacts(db, companyId, [write], BY)
      const answers: Contact[] = []
      if (isTogether) answers.push(...(await upsertContacts(db, companyId, rows, BY, { isArray: true })))
      else for (const row of rows) answers.push(...(await upsertContacts(db, companyId, [row], BY)))
      ends.push({
        answers: answers.map(({ email, phone, emailConsent, whatsappConsent }) => ({
          ...{ email, phone, emailConsent, whatsappConsent },
        })),
        contacts: await db`
          select email, phone, email_consent, whatsapp_consent from contacts where company_id = ${companyId} order by id
        `,
        consents: await db`
          select channel, identity, value from consents where company_id = ${companyId} order by id
        `,
        ofPhones: await latestConsents(
          db,
          'whatsapp',
          [P1, P2].map((identity) => ({ companyId, identity })),
        ),
      })
    }
    expect(ends[0]).toEqual(ends[1])
    return ends[0]!
  }
  const [P1, P2] = ['393331110001', '393331110002']

  test('the opt-out of a number stays when a later row gives the contact another number', async () => {
    const rows = [
      { email: 'a@x.org', phone: P1, whatsappConsent: false },
      { email: 'a@x.org', phone: P2 },
    ]
    const { consents, ofPhones } = await together(rows)
    expect([...consents]).toEqual([{ channel: 'whatsapp', identity: P1, value: false }])
    expect(ofPhones).toEqual([false, false])
  })

  test('each row shows what counts after it, on all contacts that share a number', async () => {
    const before = [
      { email: 'a@x.org', phone: P1, whatsappConsent: true },
      { email: 'b@x.org' },
      { email: 'b@x.org', phone: P1 },
    ]
    const rows = [
      { email: 'a@x.org', firstName: 'Ada' },
      { email: 'b@x.org', whatsappConsent: false },
      { email: 'a@x.org', firstName: 'Ada' },
    ]
    const { answers, contacts } = await together(rows, before)
    expect(answers.map(({ whatsappConsent }) => whatsappConsent)).toEqual([true, false, false])
    expect(contacts.map(({ whatsappConsent }) => whatsappConsent)).toEqual([false, false])
  })

  test('an opt-in that is repeated and then taken back is taken back, however long the statements take', async () => {
    await db`
      create function pause() returns trigger language plpgsql as $$ begin perform pg_sleep(0.005); return null; end $$
    `
    await db`create trigger pause after insert or update on consents for each statement execute function pause()`
    onTestFinished(async () => {
      await db`drop trigger pause on consents`
      await db`drop function pause`
    })
    const optIn = { phone: P1, whatsappConsent: true }
    const { ofPhones } = await together([optIn, { phone: P1, whatsappConsent: false }], [optIn])
    expect(ofPhones).toEqual([false, null])
  })

  test('an opt-out that is repeated after another contact opted in counts for the number that it takes', async () => {
    const { ofPhones } = await together(
      [
        { email: 'b@x.org', phone: P1, emailConsent: true, whatsappConsent: true },
        { email: 'a@x.org', emailConsent: true, whatsappConsent: false },
        { email: 'a@x.org', phone: P1, emailConsent: true },
      ],
      [{ email: 'a@x.org', phone: P2, emailConsent: true, whatsappConsent: false }],
    )
    expect(ofPhones).toEqual([false, false])
  })

  test('what a new contact says under the number of a known one is shown by both', async () => {
    const { contacts } = await together(
      [
        { email: 'b@x.org', phone: P1 },
        { email: 'b@x.org', phone: P2, whatsappConsent: true },
      ],
      [{ email: 'a@x.org', phone: P2 }],
    )
    expect(contacts.map(({ whatsappConsent }) => whatsappConsent)).toEqual([true, true])
  })

  const email = fc.constantFrom('a@x.org', 'b@x.org', undefined)
  const phone = fc.constantFrom(P1, P2, undefined)
  const value = fc.constantFrom(true, false, undefined)
  const row = fc
    .record({ email, phone, emailConsent: value, whatsappConsent: value })
    .filter((one) => one.email !== undefined || one.phone !== undefined)
    .map((one) => Object.fromEntries(Object.entries(one).filter(([, member]) => member !== undefined)) as ContactWrite)

  test('any rows', { timeout: propertyRuns(120_000) }, async () => {
    const rows = fc.array(row, { minLength: 2, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(rows, fc.array(row, { maxLength: 4 }), async (input, before) => {
        await together(input, before)
      }),
      { numRuns: propertyRuns(10) },
    )
  })
})

test('a contact that takes another email shows what was said about that one, whatever names the contact', async () => {
  const companyId = await newCompany()
  const [{ id } = { id: 0 }] = await upsertContacts(db, companyId, [{ email: 'a@x.org', emailConsent: true }], BY)
  const put = async (write: ContactWrite) => (await updateContact(db, companyId, id, write, BY)).emailConsent
  expect(await put({ email: 'b@x.org' })).toBe(null)
  expect(await put({ email: 'a@x.org' })).toBe(true)
  expect(await put({ email: null, phone: '393331110003' })).toBe(null)
  expect(await put({ email: 'c@x.org', emailConsent: false })).toBe(false)
  expect(await put({ email: 'a@x.org' })).toBe(true)
})

test('an opt-out by one contact of a shared number is shown by all, and by those who take the number later', async () => {
  const companyId = await newCompany()
  const phone = '393331110004'
  const create = async (write: ContactWrite) => (await upsertContacts(db, companyId, [write], BY))[0]!.id
  const ids = [await create({ email: 'a@x.org', phone, whatsappConsent: true }), await create({ email: 'b@x.org' })]
  await updateContact(db, companyId, ids[1]!, { phone }, BY)
  await updateContact(db, companyId, ids[1]!, { whatsappConsent: false }, BY)
  ids.push(await create({ email: 'c@x.org' }))
  const third = await updateContact(db, companyId, ids[2]!, { phone }, BY)
  expect(third.whatsappConsent).toBe(false)
  const shown = await db`select whatsapp_consent from contacts where company_id = ${companyId} order by id`
  expect(shown.map(({ whatsappConsent }) => whatsappConsent)).toEqual([false, false, false])
})

test('a statement that is repeated comes after all others, and keeps the time at which it was first made', async () => {
  const companyId = await newCompany()
  const phone = '393331110005'
  const optOut = () => upsertContacts(db, companyId, [{ phone, whatsappConsent: false }], BY)
  await optOut()
  const between = new Date()
  await db`select pg_sleep(0.01)`
  await optOut()
  await recordPreferences(db, [
    { companyId, identities: [phone], value: true, saidAt: between, eventId: 'resume 1', arrivedAt: new Date() },
  ])
  const [contact] = await upsertContacts(db, companyId, [{ phone }], BY)
  expect(contact?.whatsappConsent).toBe(false)
  const kept =
    await db`select value, first_said_at is not null as is_repeated from consents where company_id = ${companyId} order by id`
  expect([...kept]).toEqual([
    { value: false, isRepeated: true },
    { value: true, isRepeated: false },
  ])
})

test('a deleted contact leaves the opt-out that it said under an earlier number to its number', async () => {
  const companyId = await newCompany()
  const [P1, P2] = ['393331110006', '393331110007']
  const [{ id } = { id: 0 }] = await upsertContacts(db, companyId, [{ phone: P1, whatsappConsent: false }], BY)
  await updateContact(db, companyId, id, { phone: P2 }, BY)
  await removeContact(db, companyId, id)
  const shown = await upsertContacts(db, companyId, [{ phone: P1 }, { phone: P2 }], BY)
  expect(shown.map(({ whatsappConsent }) => whatsappConsent)).toEqual([false, false])
})

test('a contact of a customer who hides the phone can be named, tagged and opted out, and imported as it is exported', async () => {
  const companyId = await newCompany()
  const [id = 0] = await takeContactIds(db, 1)
  await insertCustomerContacts(db, [
    { companyId, id, identity: 'IT.77', phone: null, source: 'WhatsApp', sourceType: 'service' },
  ])
  await db`insert into customers (company_id, id, contact_id) values (${companyId}, ${id}, ${id})`
  await db`
    insert into customer_identities (company_id, customer_id, identity, reported_at)
    values (${companyId}, ${id}, 'IT.77', now())
  `
  const write = { firstName: 'Ada', tags: ['vip'], whatsappConsent: false }
  expect(await updateContact(db, companyId, id, write, BY)).toMatchObject({ ...write, email: null, phone: null })
  expect(await latestConsents(db, 'whatsapp', [{ companyId, identity: 'IT.77' }])).toEqual([false])

  const lines: string[] = []
  for await (const part of await exportContacts(db, companyId, 'ndjson')) lines.push(part)
  const { body, id: named } = lineToBody(lines.join('').trim()) as RowBody
  const row = readContactRow(
    { ...(body as object), source_type: 'database' },
    { country: null, known: new Set() },
    named,
  )
  if ('reason' in row) throw new Error(row.reason)
  const outcomes: unknown[] = []
  const importRow = async (rowId: number) =>
    upsertRows(
      db,
      companyId,
      await prepareRows(db, [{ write: row.write, id: rowId }]),
      null,
      async (_, results) => {
        outcomes.push(...results)
      },
      { signal: AbortSignal.timeout(20_000) },
    )
  await importRow(id)
  await importRow(id + 1_000_000)
  expect(outcomes).toMatchObject([
    { kind: 'updated' },
    { kind: 'refused', fault: { message: 'must have an email or a phone' } },
  ])
  // Its given phone can only be replaced, not removed.
  await updateContact(db, companyId, id, { phone: '393331110008' }, BY)
  await expect(updateContact(db, companyId, id, { phone: null }, BY)).rejects.toThrow(
    'A contact needs an email or a phone',
  )
})
