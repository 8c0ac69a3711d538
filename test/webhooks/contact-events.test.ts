import { expect, test } from 'vitest'
import { uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const service = await startTestService({ config: { webhookAllowPrivate: true }, mirrors: true })
const provider = providerOf(service)

/** A company whose registration names `contact.changed`, and the bodies that its receiver got. */
async function subscribed() {
  const company = await service.createCompany()
  const receiver = await startReceiver()
  const registration = { name: 'R', url: receiver.url, events: ['contact.changed'] }
  expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)
  /** All events so far, when none waits any more. */
  const events = async () => {
    await eventually(
      async () =>
        (await service.db`select from deliveries where company_id = ${company.companyId} and status = 'pending'`)
          .length === 0,
    )
    return receiver.received.map(({ body }) => JSON.parse(String(body)))
  }
  return { ...company, events, received: receiver.received }
}

const write = (company: { phoneNumberId: string }, message: object) => provider.messages(company.phoneNumberId, message)

const numberChange = (from: string, to: string) => ({
  ...textFrom(from, ''),
  text: undefined,
  type: 'system',
  system: { body: 'changed', type: 'user_changed_number', wa_id: to },
})

test('a new phone number of a customer is a change of the contact', async () => {
  const company = await subscribed()
  const [before, after] = [uniquePhone(), uniquePhone()]
  await write(company, textFrom(before, 'Hello'))
  await write(company, numberChange(before, after))
  await write(company, textFrom(after, 'Hello again'))
  const events = await company.events()
  expect(events.map(({ change }) => change).sort()).toEqual(['created', 'updated'])
  const [created, updated] = ['created', 'updated'].map((change) => events.find((one) => one.change === change))
  expect(created.data.phone).toBe(`+${before}`)
  expect(updated.data).toMatchObject({ id: created.data.id, phone: `+${after}`, deleted: false })
})

test('a contact that loses its number to another person is reported, too', async () => {
  const company = await subscribed()
  const phone = uniquePhone()
  await write(company, textFrom(phone, 'Hello', { from_user_id: `IT.${phone}1` }))
  await write(company, textFrom(phone, 'Another person', { from_user_id: `IT.${phone}2` }))
  const events = await company.events()
  const [first, second] = events.filter(({ change }) => change === 'created').map(({ data }) => data)
  const losers = events.filter(({ change }) => change === 'updated').map(({ data }) => data)
  expect(losers).toMatchObject([{ phone: null }])
  expect([first.id, second.id]).toContain(losers[0].id)
})

test('a user id that the provider reports for a known number, and its change, are changes of the contact', async () => {
  const company = await subscribed()
  const from = uniquePhone()
  const [former, current] = [`IT.${from}`, `IT.${from}9`]
  await write(company, textFrom(from, 'Hello'))
  await write(company, textFrom(from, 'With an id', { from_user_id: former }))
  await write(company, textFrom(from, 'With the same id', { from_user_id: former }))
  expect((await company.events()).map(({ change }) => change).sort()).toEqual(['created', 'updated'])
  const update = { wa_id: from, user_id: { previous: former, current }, timestamp: String(secondsNow()) }
  await provider.report(bodyOf(changeOf(company.phoneNumberId, { user_id_update: [update] }, 'user_id_update')))
  await eventually(async () => (await company.events()).length >= 3)
  expect((await company.events()).map(({ change }) => change).sort()).toEqual(['created', 'updated', 'updated'])
})

test('an erasure is reported by its id alone, and erases the earlier events', async () => {
  const company = await subscribed()
  const email = uniqueAddress()
  const contact = { email, phone: `+${uniquePhone()}`, firstName: 'Ada', tags: ['x'], customFields: { TIER: 'gold' } }
  const [{ id }] = (await company.api('POST', '/contacts', contact)).body.data
  await company.events()
  expect((await company.api('DELETE', `/contacts/${id}?erase=true`)).status).toBe(200)
  await eventually(async () => company.received.length >= 2)
  const event = (await company.events()).at(-1)
  expect(event).toMatchObject({
    id: expect.stringMatching(new RegExp(`^erasure_${id}\\.`)),
    change: 'deleted',
    data: { id, deleted: true, status: 'erased', email: null, phone: null, first_name: null, last_name: null },
  })
  expect(event.data).toMatchObject({ custom_fields: {}, tags: [], marketing_consent: { email: null, whatsapp: null } })
  expect(JSON.stringify(event)).not.toContain('Ada')
  await eventually(async () => {
    const stored = await service.db<{ eventId: string; body: string }[]>`
      select event_id, body from envelopes where company_id = ${company.companyId}
    `
    return stored.every(({ eventId, body }) => (eventId.startsWith('erasure_') ? body !== '{}' : body === '{}'))
  })
})

test('a contact that was deleted before is reported again when it is erased', async () => {
  const company = await subscribed()
  const [{ id }] = (await company.api('POST', '/contacts', { email: uniqueAddress() })).body.data
  await company.api('DELETE', `/contacts/${id}`)
  await company.events()
  await company.api('DELETE', `/contacts/${id}?erase=true`)
  await eventually(async () => company.received.length >= 3)
  const events = (await company.events()).map(({ change, data }) => `${change} ${data.status}`)
  expect(events.sort()).toEqual(['created active', 'deleted active', 'deleted erased'])
})

test('without a registration that names it no event is written', async () => {
  const company = await service.createCompany()
  const [before, after] = [uniquePhone(), uniquePhone()]
  await write(company, textFrom(before, 'Hello'))
  await write(company, numberChange(before, after))
  expect(await service.db`select from envelopes where company_id = ${company.companyId}`).toHaveLength(0)
})
