import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { createProof } from '../../src/inbound/handling/body-reader.ts'
import { acceptBodies } from '../../src/inbound/ingest/accept.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'
import { changeOf, inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const service = await startTestService()
const provider = providerOf(service)
const newId = () => `8${randomInt(1e9, 1e10)}${randomInt(1e4, 1e5)}`
const [ONE, TWO, OTHER] = ['the-secret-of-number-one', 'the-secret-of-number-two', 'the-secret-of-another']
const by = (secret: string) => ({ 'x-webhook-secret': secret })

/** Two numbers of one company on one account, each with a webhook secret. */
async function createAccount() {
  const [wabaAccountId, first, second] = [newId(), newId(), newId()]
  const sender = { wabaAccountId, phoneNumberId: first, webhookSecret: ONE }
  const company = await service.createCompany({ sender })
  await service.connectSender(company.companyId, { ...sender, phoneNumberId: second, ...{ webhookSecret: TWO } })
  const event = { field: 'account_update', value: { event: 'ACCOUNT_RESTRICTION' } }
  const bodyOf = (...changes: object[]) => ({ object: 'x', entry: [{ id: wabaAccountId, time: 1760000000, changes }] })
  const messageTo = (phoneNumberId: string, from: string) =>
    changeOf(phoneNumberId, { messages: [textFrom(from, 'Hi')] })
  // Which senders carry a secret is believed for a few seconds.
  await eventually(async () => (await provider.post(bodyOf(event))).status === 401)
  await eventually(async () => (await provider.post(bodyOf(messageTo(second, uniquePhone())))).status === 401)
  await service.db`delete from account_events where company_id = ${company.companyId}`
  return { company, wabaAccountId, first, second, event, bodyOf, messageTo }
}

const countEvents = async (companyId: number): Promise<number> => {
  const rows = await service.db`select from account_events where company_id = ${companyId}`
  return rows.length
}

test('an event about an account is proven by the secret of any of its numbers, and so is a message beside it', async () => {
  const { company, first, second, event, bodyOf, messageTo } = await createAccount()
  const [alice, bob] = [uniquePhone(), uniquePhone()]
  await provider.report(bodyOf(event), by(ONE))
  expect(await countEvents(company.companyId)).toBe(1)
  await provider.report(bodyOf({ ...event, value: { event: 'ACCOUNT_DELETED' } }), by(TWO))
  expect(await countEvents(company.companyId)).toBe(2)
  await provider.report(bodyOf(event, messageTo(first, alice)), by(ONE))
  await provider.report(bodyOf(messageTo(second, bob), event), by(TWO))
  expect(await inboxOf(company).texts(alice)).toEqual(['Hi'])
  expect(await inboxOf(company).texts(bob)).toEqual(['Hi'])
})

test('the secret of a number proves no message to another number of its account', async () => {
  const { first, second, event, bodyOf, messageTo } = await createAccount()
  for (const [number, secret] of [
    [first, TWO],
    [second, ONE],
  ] as const) {
    expect((await provider.post(bodyOf(messageTo(number, uniquePhone())), by(secret))).status).toBe(401)
  }
  expect((await provider.post(bodyOf(event), by(OTHER))).status).toBe(401)
})

test('a number on an account proves no event for another company on it', async () => {
  const { company, wabaAccountId, event, bodyOf } = await createAccount()
  const sender = { wabaAccountId, phoneNumberId: newId(), webhookSecret: OTHER }
  const other = await service.createCompany({ sender })
  // Which senders carry a secret is believed for a few seconds.
  await eventually(async () => (await provider.post(bodyOf(event), by('of-no-one'))).status === 401)
  await eventually(async () => (await provider.post(bodyOf(event), by(OTHER))).status === 200)
  await provider.handled()
  await service.db`delete from account_events`
  await provider.report(bodyOf(event), by(OTHER))
  expect([await countEvents(company.companyId), await countEvents(other.companyId)]).toEqual([0, 1])
})

test('an event about an account that came before its numbers proves the secret of any of them', async () => {
  const { company, wabaAccountId, bodyOf } = await createAccount()
  const arrivals = [
    [ONE, 'ACCOUNT_RESTRICTION'],
    [TWO, 'ACCOUNT_DELETED'],
    [OTHER, 'DISABLED_UPDATE'],
  ].map(([secret, event]) => {
    const body = Buffer.from(JSON.stringify(bodyOf({ field: 'account_update', value: { event } })))
    const proof = createProof(body, { signature: null, secret })
    return { body, receivedAt: new Date(Date.now() - 60_000), proof, address: null }
  })
  await acceptBodies(service.db, eventReader, arrivals)
  await provider.handled()
  expect(await countEvents(company.companyId)).toBe(2)
  const kept = await service.db`select state from inbound_items where waba_account_id = ${wabaAccountId}`
  expect(kept.map(({ state }) => state)).toEqual(['unverified'])
})
