import { expect, test } from 'vitest'
import { caller, contactsApp } from '../../test/contacts/contacts-app.ts'
import { startCutProxy } from '../../test/cut-proxy.ts'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { connect } from '../db/connect.ts'
import type { ContactWrite } from '../people/contact-record.ts'
import { updateContact } from './contact.ts'
import { upsertContacts } from './write/contact-upsert.ts'

const BY = { clientId: null, source: 'api' }

/** Counts round trips with prepared statements. */
test('a contact is created, updated and given consent in two round trips to the database', async () => {
  const { db, url } = await createTestDatabase({ mirrors: true })
  const companyId = await createCompany(db)
  const proxy = await startCutProxy(url)
  const one = connect(proxy.url, { max: 1 })
  const count = proxy.roundTripsOf
  const write = (n: number, more: ContactWrite = {}) =>
    count(() =>
      upsertContacts(one, companyId, [{ email: `ada${n}@example.com`, phone: `39333${1000 + n}`, ...more }], BY),
    )
  for (const n of [1, 2, 1, 2]) await write(n, { emailConsent: n === 1 })
  expect(await write(3)).toBe(2)
  expect(await write(3, { firstName: 'Ada' })).toBe(2)
  expect(await write(4, { emailConsent: true })).toBe(2)
  const [ada] = await upsertContacts(one, companyId, [{ email: 'ada1@example.com' }], BY)
  expect(await count(() => updateContact(one, companyId, ada!.id, { firstName: 'Ada' }, BY))).toBe(2)
  const rows = await db`select email, first_name from contacts where company_id = ${companyId} order by email`
  expect(rows.map(({ email, firstName }) => [email, firstName])).toEqual([
    ['ada1@example.com', 'Ada'],
    ['ada2@example.com', null],
    ['ada3@example.com', 'Ada'],
    ['ada4@example.com', null],
  ])
  await one.end()
})

test('a request with one contact takes two round trips to the database', async () => {
  const { db, url } = await createTestDatabase()
  const companyId = await createCompany(db)
  const proxy = await startCutProxy(url)
  const one = connect(proxy.url, { max: 1 })
  const { app, keyOf } = await contactsApp(one)
  const { headers } = await keyOf(caller(companyId))
  const post = (n: number) =>
    proxy.roundTripsOf(async () => {
      const payload = { email: `ada${n}@example.com`, phone: `39333${1000 + n}` }
      const { statusCode } = await app.inject({ method: 'POST', url: '/public/v1/contacts', headers, payload })
      expect(statusCode).toBe(200)
    })
  for (const n of [1, 2, 1, 2]) await post(n)
  expect(await post(3)).toBe(2)
  expect(await post(3)).toBe(2)
  await one.end()
})
