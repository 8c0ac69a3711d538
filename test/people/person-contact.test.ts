import { describe, expect, test } from 'vitest'
import { phoneIdentity } from '../../src/platform/text/phone.ts'
import { newPerson, type Shop, startPeople } from './people-world.ts'

const { service, createShop } = await startPeople()
const { db } = service

/** A customer, known by a number, a user id and a dialled number, whose contact was deleted. */
async function createLeft() {
  const shop = await createShop()
  const [ada, dialled] = [newPerson(), newPerson().phone]
  await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone: dialled, waId: ada.phone })
  await shop.send(dialled)
  await shop.report(shop.events.message(ada, 'Hello'))
  const [{ chatId, contact }] = await shop.inbox.list()
  await shop.api('DELETE', `/contacts/${contact.id}`)
  return { shop, ada, dialled, chatId }
}

type Left = Awaited<ReturnType<typeof createLeft>>

const WAYS: [string, (left: Left) => Promise<unknown>][] = [
  ['a message by number', ({ shop, ada }) => shop.report(shop.events.message({ phone: ada.phone }, 'Again'))],
  ['a message by user id', ({ shop, ada }) => shop.report(shop.events.message({ userId: ada.userId }, 'Again'))],
  [
    'a message from the dialled number',
    ({ shop, dialled }) => shop.report(shop.events.message({ phone: dialled }, 'Again')),
  ],
  ['an echo', ({ shop, ada }) => shop.report(shop.events.echo({ phone: ada.phone }, 'Again'))],
  ['a send to the number', ({ shop, ada }) => shop.send(ada.phone)],
  ['a send to the user id', ({ shop, ada }) => shop.send(ada.userId)],
  ['a send to the dialled number', ({ shop, dialled }) => shop.send(dialled)],
  ['a reply', ({ shop, chatId }) => shop.reply(chatId)],
]

/** The contact of the conversation, and the living contacts of the shop. */
async function seen(shop: Shop, chatId: number) {
  const conversation = (await shop.inbox.list()).find((one) => one.chatId === chatId)
  const contacts = (await shop.contacts()) as { id: number; phone: string | null }[]
  return { id: conversation.contact.id, contacts: contacts.map(({ id, phone }) => [id, phone]) }
}

/** Stores a contact as earlier versions left it: no customer is attached to it yet. */
async function store({ shop, chatId }: Left, phone: string): Promise<number> {
  const [attached] = await db<{ id: number; contactId: number }[]>`
    select customer.id, customer.contact_id
    from conversations conversation
    join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
    where (conversation.company_id, conversation.id) = (${shop.companyId}, ${chatId})
  `
  const { id } = await shop.createContact({ phone })
  await db`
    update customers set contact_id = ${attached!.contactId} where (company_id, id) = (${shop.companyId}, ${attached!.id})
  `
  return id
}

describe('after a contact was deleted and another stored, the customer has the stored one', () => {
  test.each(WAYS)('with the number, after %s', async (_, act) => {
    const left = await createLeft()
    const id = await store(left, left.ada.phone)
    await act(left)
    expect(await seen(left.shop, left.chatId)).toEqual({ id, contacts: [[id, `+${left.ada.phone}`]] })
  })

  test.each(WAYS)('with the dialled number, after %s', async (_, act) => {
    const left = await createLeft()
    const id = await store(left, left.dialled)
    await act(left)
    expect(await seen(left.shop, left.chatId)).toEqual({ id, contacts: [[id, `+${left.dialled}`]] })
  })

  test.each(
    WAYS,
  )('with the current number rather than an older one with another number, after %s', async (way, act) => {
    const left = await createLeft()
    // Earlier versions kept them apart: today a write with one number finds the contact with the other.
    const { id: other } = await left.shop.createContact({ phone: newPerson().phone })
    const { id } = await left.shop.createContact({ email: 'ada@example.org', phone: left.ada.phone })
    await db`
      update contacts set phone = ${left.dialled}, phone_identity = ${phoneIdentity(left.dialled)}
      where (company_id, id) = (${left.shop.companyId}, ${other})
    `
    await db`
      update customers set contact_id = (select min(id) from contacts where company_id = ${left.shop.companyId})
      where company_id = ${left.shop.companyId}
    `
    await act(left)
    const { contacts, ...conversation } = await seen(left.shop, left.chatId)
    expect(conversation.id).toBe(way === 'a message from the dialled number' ? other : id)
    expect(contacts.map(([one]) => one)).toEqual([other, id])
  })
})

describe('a customer whose contact was deleted gets a new one', () => {
  test.each(WAYS)('with the number at which answers reach the customer, after %s', async (way, act) => {
    const left = await createLeft()
    await act(left)
    const { id, contacts } = await seen(left.shop, left.chatId)
    const phone = way === 'a message from the dialled number' ? left.dialled : left.ada.phone
    expect(contacts).toEqual([[id, `+${phone}`]])
  })
})
