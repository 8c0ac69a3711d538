import { expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, providerOf, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { startTestService, uniquePhone } from '../service.ts'

const service = await startTestService()
const { createCompany, db } = service
const provider = providerOf(service)
const receiver = await startReceiver((_, response) => response.end())

type Company = Awaited<ReturnType<typeof createCompany>>

async function createShop(): Promise<Company> {
  const company = await createCompany()
  await company.api('POST', '/webhooks/registrations', {
    ...{ name: 'Receiver', url: receiver.url, events: ['whatsapp.message.received'] },
  })
  return company
}

async function eraseByPhone({ api }: Company, phone: string): Promise<void> {
  const { body } = await api('GET', '/contacts?limit=100')
  const { id } = body.data.find((contact: { phone: string | null }) => contact.phone === `+${phone}`)
  expect((await api('DELETE', `/contacts/${id}?erase=true`)).status).toBe(200)
}

const countsOf = async ({ companyId }: Company) => {
  const [row] = await db`
    select
      (select count(*) from contacts where company_id = ${companyId})::integer as contacts,
      (select count(*) from conversations where company_id = ${companyId})::integer as conversations,
      (select count(*) from messages where company_id = ${companyId})::integer as messages,
      (select count(*) from message_changes where company_id = ${companyId})::integer as changes,
      (select count(*) from message_reactions where company_id = ${companyId})::integer as reactions,
      (select count(*) from deliveries where company_id = ${companyId})::integer as deliveries
  `
  return row
}

const kept = async (text: string) => {
  const [row] = await db`
    select
      (select count(*) from inbound_items where position(convert_to(${text}, 'UTF8') in body) > 0)::integer as items,
      (select count(*) from inbound_bodies where position(convert_to(${text}, 'UTF8') in body) > 0)::integer as bodies
  `
  return row
}

test('a repeat of an erased message, reaction or edit makes no contact, message or delivery', async () => {
  const shop = await createShop()
  const phone = uniquePhone()
  const first = textFrom(phone, 'Hello')
  const edit = { original_message_id: first.id, message: { type: 'text', text: { body: 'Edited' } } }
  const bodies = [
    first,
    { ...textFrom(phone, ''), type: 'reaction', reaction: { message_id: first.id, emoji: 'A' } },
    { ...textFrom(phone, ''), type: 'edit', edit },
  ].map((message) => bodyOf(changeOf(shop.phoneNumberId, { messages: [message] })))
  for (const body of bodies) await provider.report(body)
  await eraseByPhone(shop, phone)
  const before = await countsOf(shop)
  expect(before?.deliveries).toBeGreaterThan(0)
  for (const body of bodies) await provider.report(body)
  expect(await countsOf(shop)).toEqual(before)
  expect((await shop.api('GET', '/contacts')).body.data).toEqual([])

  // Another message of the same number is a new person's.
  await provider.messages(shop.phoneNumberId, textFrom(phone, 'Hello again'))
  expect(await inboxOf(shop).texts(phone)).toEqual(['Hello again'])
})

test('an event that was accepted before the erasure and is handled after it is erased, too', async () => {
  const shop = await createShop()
  const phone = uniquePhone()
  await provider.messages(shop.phoneNumberId, textFrom(phone, 'Hello'))
  await eraseByPhone(shop, phone)
  // As if the erasure had come between the arrival of what follows and its handling.
  await db`update erased_keys set erased_at = now() + interval '1 hour' where company_id = ${shop.companyId}`
  const before = await countsOf(shop)
  await provider.messages(shop.phoneNumberId, textFrom(phone, 'In the queue'))
  await provider.messages(shop.phoneNumberId, textFrom(phone, 'In a group', { group_id: 'group-1' }))
  const edit = { original_message_id: newWamid(), message: { type: 'text', text: { body: 'Edited' } } }
  await provider.messages(shop.phoneNumberId, { ...textFrom(phone, ''), type: 'edit', edit })
  expect(await countsOf(shop)).toEqual(before)
})

test('a body that is kept for the item of another person goes, and the item stays', async () => {
  const shop = await createShop()
  const [phone, other] = [uniquePhone(), uniquePhone()]
  const own = changeOf(shop.phoneNumberId, { messages: [textFrom(phone, 'Hello')] })
  const unroutable = changeOf(`unknown${other}`, { messages: [textFrom(other, 'Hello')] })
  await provider.report(bodyOf(own, unroutable))
  expect([await kept(phone), await kept(other)]).toEqual([
    { items: 0, bodies: 1 },
    { items: 1, bodies: 1 },
  ])
  await eraseByPhone(shop, phone)
  expect([await kept(phone), await kept(other)]).toEqual([
    { items: 0, bodies: 0 },
    { items: 1, bodies: 0 },
  ])
})

test('an item of the company’s own account that names an unknown number is erased, and not one of another account', async () => {
  const shop = await createShop()
  const phone = uniquePhone()
  await provider.messages(shop.phoneNumberId, textFrom(phone, 'Hello'))
  const [sender] = await db<{ account: string }[]>`
    select waba_account_id as account from senders where company_id = ${shop.companyId}
  `
  for (const account of [sender!.account, 'another account']) {
    const body = bodyOf(changeOf(`unknown${uniquePhone()}`, { messages: [textFrom(phone, 'Hello')] }))
    await provider.report({ ...body, entry: body.entry.map((entry) => ({ ...entry, id: account })) })
  }
  expect(await kept(phone)).toEqual({ items: 2, bodies: 2 })
  await eraseByPhone(shop, phone)
  expect(await kept(phone)).toEqual({ items: 1, bodies: 1 })
})
