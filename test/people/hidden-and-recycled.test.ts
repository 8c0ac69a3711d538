import { describe, expect, test } from 'vitest'
import { newPerson, newUserId, type Shop, startPeople } from './people-world.ts'

const { service, createShop } = await startPeople()

/** Each returns the conversation of a customer of whom the service knows neither phone nor email. */
const CUSTOMERS: [string, (shop: Shop) => Promise<{ chatId: number; contact: { id: number } }>][] = [
  [
    'a customer who hides the phone',
    async (shop) => {
      await shop.report(shop.events.message({ userId: newUserId() }, 'Hello'))
      return (await shop.inbox.list())[0]
    },
  ],
  [
    'the former owner of a recycled number',
    async (shop) => {
      const ada = newPerson()
      await shop.report(shop.events.message(ada, 'From Ada'))
      const { chatId } = await shop.inbox.find(ada.phone)
      await shop.report(shop.events.message({ phone: ada.phone, userId: newUserId() }, 'From Ben'))
      return (await shop.inbox.list()).find((one) => one.chatId === chatId)
    },
  ],
]

describe.each(CUSTOMERS)('%s', (_, write) => {
  test('can be named, tagged and opted out', async () => {
    const shop = await createShop()
    const { contact } = await write(shop)
    const fields = { firstName: 'Ada', tags: ['vip'], customFields: { SIZE: 'M' } }
    const changed = await shop.api('PUT', `/contacts/${contact.id}`, {
      ...fields,
      marketingConsent: { whatsapp: false },
    })
    expect([changed.status, changed.text]).toEqual([200, expect.any(String)])
    expect(changed.body.data).toMatchObject({
      id: contact.id,
      phone: null,
      first_name: 'Ada',
      tags: ['vip'],
      marketing_consent: { whatsapp: false },
    })
    expect((await shop.inbox.list()).map((one) => one.contact.name)).toContain('Ada')
  })

  test('gets no marketing after an opt-out', async () => {
    const shop = await createShop()
    const { contact, chatId } = await write(shop)
    await shop.api('PUT', `/contacts/${contact.id}`, { marketingConsent: { whatsapp: false } })
    const { userId } = (await shop.inbox.list()).find((one) => one.chatId === chatId).contact
    expect(await shop.marketing(userId)).toBe(403)
  })

  test('is in the export', async () => {
    const shop = await createShop()
    const { contact } = await write(shop)
    const path = '/public/v1/contacts/export'
    const exported = await service.call(service.url, 'GET', path, undefined, {
      authorization: `Bearer ${shop.key.token}`,
    })
    expect(exported.status).toBe(200)
    const rows = exported.text.trim().split(/\r?\n/).slice(1)
    expect(rows).toHaveLength((await shop.contacts()).length)
    expect(rows.some((row) => row.split(',').includes(String(contact.id)))).toBe(true)
  })
})

test('after a number was recycled, each conversation reaches its own writer', async () => {
  const shop = await createShop()
  const [ada, ben] = [newPerson(), newUserId()]
  await shop.report(shop.events.message(ada, 'From Ada'))
  const first = await shop.inbox.find(ada.phone)
  await shop.report(shop.events.message({ phone: ada.phone, userId: ben }, 'From Ben'))
  const second = await shop.inbox.find(ada.phone)
  expect(second.chatId).not.toBe(first.chatId)
  expect(await shop.answerReaches(first.chatId)).toBe(ada.userId)
  expect(await shop.answerReaches(second.chatId)).toBe(ada.phone)
})
