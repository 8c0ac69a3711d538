import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany } from '../../../test/world.ts'
import { hasRefusedEmail, recordConsent } from './consent-store.ts'
import { recordPreferences } from './contact-event-store.ts'

const { db } = await createTestDatabase({ mirrors: true })

test.each([true, false])('an address refuses marketing when the consent of its contact is %s', async (consent) => {
  const companyId = await createCompany(db)
  await db`
    insert into contacts (company_id, email, email_key, email_consent, source, source_type)
    values (${companyId}, 'ada@example.com', 'ada@example.com', ${consent}, 'test', 'test')
  `
  expect(await hasRefusedEmail(db, companyId, 'ada@example.com')).toBe(!consent)
})

test('a preference is recorded for the contact of the company, though another company knows a more specific identity', async () => {
  const [companyId, other] = [await createCompany(db), await createCompany(db)]
  const create = async (company: number, identity: string) => {
    const [row] = await db<{ id: number }[]>`
      insert into contacts (company_id, phone, phone_identity, source, source_type)
      values (${company}, ${identity}, ${identity}, 'test', 'test')
      returning id
    `
    return row!.id
  }
  const [id, otherId] = [await create(companyId, '39333'), await create(other, '39444')]
  await db`insert into contact_aliases (company_id, identity, contact_id) values (${other}, 'IT.1', ${otherId})`
  await recordPreferences(db, [{ companyId, identities: ['IT.1', '39333'], value: false }])
  const rows =
    await db`select id, whatsapp_consent from contacts where company_id in (${companyId}, ${other}) order by id`
  expect([...rows]).toEqual([
    { id, whatsappConsent: false },
    { id: otherId, whatsappConsent: null },
  ])
})

test('an opt-out is kept under the identities of the contact, not of one with its id in another company', async () => {
  const [companyId, other] = [await createCompany(db), await createCompany(db)]
  const create = (company: number, phone: string) => db`
    insert into contacts (company_id, id, phone, phone_identity, source, source_type)
    values (${company}, 1000000, ${phone}, ${phone}, 'test', 'test')
  `
  await create(companyId, '39555')
  await create(other, '39666')
  await recordConsent(db, companyId, 1_000_000, 'whatsapp', false, { clientId: null, source: 'test' })
  const [row] = await db`
    select is_opted_out(${companyId}, 'whatsapp', '39555') as own, is_opted_out(${companyId}, 'whatsapp', '39666') as other
  `
  expect(row).toEqual({ own: true, other: false })
})
