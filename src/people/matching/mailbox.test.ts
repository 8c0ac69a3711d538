import { beforeEach, expect, test } from 'vitest'
import { startContacts } from '../../../test/contacts/contacts-app.ts'
import { unsubscribe } from '../../contacts/write/unsubscribe.ts'
import { rekeyEmails } from '../../emails/email-keys.ts'
import { findSuppression } from '../../emails/suppression/suppression.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import { hasRefusedEmail, refreshConsents } from '../consent/shown-consent.ts'
import { findTwins, rekeyMailboxes } from './mailbox.ts'
import { sweepMailboxes } from './mailbox-sweep.ts'

const { db, newCompany, call, keyOf } = await startContacts({ mirrors: false })
const UNICODE = 'b@münchen.example'
const ASCII = 'b@xn--mnchen-3ya.example'
const WIDE = 'b@ｍünchen.example'

let companyId: number
beforeEach(async () => {
  companyId = await newCompany()
  await db`delete from mailbox_passes`
})
const as = () => ({ companyId, permissions: ['WhatsApp' as const] })
const write = (method: 'POST' | 'PUT' | 'DELETE' | 'GET', url: string, body?: unknown) => call(method, url, body, as())

/** A contact and opt-out written by the previous version. */
async function storeContact(email: string, consent: boolean | null = null): Promise<number> {
  const key = email.normalize('NFC').toLowerCase()
  const [row] = await db<{ id: number }[]>`
    insert into contacts (company_id, email, email_key, email_consent, search_text, source, source_type, status)
    values (${companyId}, ${email}, ${key}, ${consent}, ${key}, 'API', 'database', 'active')
    returning id
  `
  const { id } = row!
  if (consent !== null) {
    await db`
      insert into consents (company_id, channel, identity, contact_id, value, said_at, source)
      values (${companyId}, 'email', ${`mailto:${key}`}, ${id}, ${consent}, now(), 'api')
    `
  }
  return id
}
const sweep = () => sweepMailboxes({ db, rekeyEmails }, new AbortController().signal)
const stored = () => db`
  select id, email_key, email_consent from contacts where company_id = ${companyId} and deleted_at is null order by id
`
const isRefused = async (email: string) => {
  await rekeyMailboxes(db, companyId, [emailKey(email)])
  return hasRefusedEmail(db, companyId, email)
}

const optOut = (recipient: string) =>
  unsubscribe(
    { db, publish: () => {}, recordEvents: { isSubscribed: () => false, publish: async () => {} } as never },
    companyId,
    { emailId: 1, recipient },
  )

test('an opt-out of one spelling holds for all, before and after the sweep', async () => {
  const id = await storeContact(UNICODE, false)
  await db`
    insert into email_suppressions (company_id, address, reason) values (${companyId}, ${UNICODE}, 'complaint')
  `
  expect(await findSuppression(db, companyId, ASCII)).toMatchObject({ reason: 'complaint' })
  expect(await isRefused(ASCII)).toBe(true)
  await sweep()
  expect(await findSuppression(db, companyId, ASCII)).toMatchObject({ address: ASCII, reason: 'complaint' })
  expect(await stored()).toEqual([{ id, emailKey: ASCII, emailConsent: false }])
  for (const spelling of [UNICODE, ASCII, WIDE]) {
    expect(await isRefused(spelling)).toBe(true)
    expect((await write('GET', `/contacts/by-email/${encodeURIComponent(spelling)}`)).body.data.id).toBe(id)
    const { body } = await write('POST', '/contacts', { email: spelling, firstName: spelling })
    expect(body.data[0]).toMatchObject({ id, marketing_consent: { email: false } })
  }
})

test('a contact that was stored in another spelling is found before the sweep', async () => {
  const id = await storeContact(UNICODE, true)
  const { body } = await write('POST', '/contacts', { email: ASCII, firstName: 'Bea' })
  expect(body.data[0]).toMatchObject({ id, first_name: 'Bea', email: ASCII, marketing_consent: { email: true } })
  expect(await stored()).toMatchObject([{ emailKey: ASCII }])
})

test('an entry of the ledger outlives the contact in any spelling, also as a hash', async () => {
  await db`
    insert into consents (company_id, channel, identity, value, said_at, source)
    values (${companyId}, 'email', keyed_hash(${companyId}, ${`mailto:${UNICODE}`}), false, now(), 'erasure')
  `
  const { body } = await write('POST', '/contacts', { email: ASCII })
  expect(body.data[0].marketing_consent.email).toBe(false)
  await refreshConsents(db, [{ companyId, contactId: body.data[0].id }])
  expect(await stored()).toMatchObject([{ emailConsent: false }])
})

test('the sweep moves unusual spellings, in contacts and in the ledger', async () => {
  const id = await storeContact(WIDE, false)
  await sweep()
  expect(await stored()).toEqual([{ id, emailKey: ASCII, emailConsent: false }])
  expect(await isRefused(UNICODE)).toBe(true)
})

test('the sweep runs twice, a day apart', async () => {
  await sweep()
  await storeContact(WIDE)
  await sweep()
  expect(await stored()).toMatchObject([{ emailKey: WIDE.toLowerCase() }])
  await db`update mailbox_passes set ended_at = now() - interval '25 hours'`
  await sweep()
  expect(await stored()).toMatchObject([{ emailKey: ASCII }])
  await db`update mailbox_passes set ended_at = now() - interval '25 hours'`
  await sweep()
  expect(await db`select number from mailbox_passes order by number`).toEqual([{ number: 1 }, { number: 2 }])
})

test('two contacts that become one mailbox stay two, and the next write is 409 until one is changed', async () => {
  const first = await storeContact(UNICODE, false)
  const second = await storeContact(ASCII)
  await sweep()
  expect(await stored()).toMatchObject([{ id: first }, { id: second, emailKey: ASCII }])
  expect(await findTwins(db)).toEqual([{ companyId, contactId: second, otherId: first, key: ASCII, otherKey: UNICODE }])
  expect(await isRefused(ASCII)).toBe(true)
  for (const email of [UNICODE, ASCII, WIDE]) {
    expect(await write('POST', '/contacts', { email })).toMatchObject({
      status: 409,
      body: { error: { code: 'duplicate_resource', message: expect.stringContaining(`${second} and ${first}`) } },
    })
  }
  expect(await write('PUT', `/contacts/${first}`, { firstName: 'Bea' })).toMatchObject({ status: 409 })
  expect(await write('PUT', `/contacts/${second}`, { email: ASCII })).toMatchObject({ status: 409 })
  const { headers } = await keyOf(as())
  expect(headers).toBeDefined()
  await optOut(UNICODE)
  expect(await write('PUT', `/contacts/${first}`, { email: 'other@example.com' })).toMatchObject({ status: 200 })
  expect(await findTwins(db)).toEqual([])
  expect(await write('POST', '/contacts', { email: UNICODE })).toMatchObject({ status: 200 })
})

test('two contacts of one mailbox show the consent that is applied to it', async () => {
  const silent = await storeContact(UNICODE)
  const refusing = await storeContact(ASCII, false)
  await sweep()
  expect(await isRefused(UNICODE)).toBe(true)
  expect(await stored()).toMatchObject([
    { id: silent, emailConsent: false },
    { id: refusing, emailConsent: false },
  ])
})

test('a change of consent of one mailbox shows on both its contacts', async () => {
  const [first, second] = [await storeContact(UNICODE, false), await storeContact(ASCII, true)]
  await sweep()
  expect(await isRefused(UNICODE)).toBe(false)
  expect(await stored()).toMatchObject([
    { id: first, emailConsent: true },
    { id: second, emailConsent: true },
  ])
  await optOut(UNICODE)
  expect(await isRefused(ASCII)).toBe(true)
  expect(await stored()).toMatchObject([
    { id: first, emailConsent: false },
    { id: second, emailConsent: false },
  ])
})

test('two contacts are two no longer when one is deleted', async () => {
  const first = await storeContact(UNICODE)
  const second = await storeContact(ASCII)
  await sweep()
  expect(await write('DELETE', `/contacts/${second}`)).toMatchObject({ status: 200 })
  const { body } = await write('POST', '/contacts', { email: ASCII })
  expect(body.data[0].id).toBe(first)
  expect(await stored()).toMatchObject([{ id: first, emailKey: ASCII }])
})
