import { expect, test } from 'vitest'
import { newPerson, startPeople } from './people-world.ts'

const { createShop } = await startPeople()

test('an event that the provider repeats brings no one back after an erasure', async () => {
  const shop = await createShop()
  const ada = newPerson()
  const message = shop.events.message(ada, 'My secret')
  await shop.report(message)
  const { chatId, contact } = await shop.inbox.find(ada.phone)
  const erased = await shop.api('DELETE', `/contacts/${contact.id}?erase=true`)
  expect(erased.status).toBe(200)
  await shop.report(message)
  expect(await shop.contacts()).toEqual([])
  expect((await shop.inbox.list()).map((one) => [one.chatId, one.contact.phone])).toEqual([[chatId, null]])
  expect((await shop.inbox.messages(chatId)).map(({ text }) => text)).toEqual(['[erased]'])
})

test('an echo that the provider repeats brings no one back after an erasure', async () => {
  const shop = await createShop()
  const ada = newPerson()
  const echo = shop.events.echo({ phone: ada.phone }, 'From the app')
  await shop.report(echo)
  const { contact } = await shop.inbox.find(ada.phone)
  await shop.api('DELETE', `/contacts/${contact.id}?erase=true`)
  await shop.report(echo)
  expect(await shop.contacts()).toEqual([])
})

test('a number change that the provider repeats brings no one back after an erasure', async () => {
  const shop = await createShop()
  const [before, after] = [newPerson(), newPerson()]
  const change = shop.events.numberChanged(before, after)
  await shop.report(shop.events.message(before, 'Hello'))
  await shop.report(change)
  const [{ contact }] = await shop.inbox.list()
  await shop.api('DELETE', `/contacts/${contact.id}?erase=true`)
  await shop.report(change)
  expect(await shop.contacts()).toEqual([])
  expect((await shop.inbox.list()).filter((one) => one.contact.phone !== null)).toEqual([])
})

test('an opt-out outlives an erasure under every identity of the person', async () => {
  const shop = await createShop()
  const ada = newPerson()
  await shop.report(shop.events.message(ada, 'Hello'))
  const { contact } = await shop.inbox.find(ada.phone)
  await shop.api('PUT', `/contacts/${contact.id}`, { marketingConsent: { whatsapp: false } })
  await shop.api('DELETE', `/contacts/${contact.id}?erase=true`)
  expect(await shop.marketing(ada.phone)).toBe(403)
  expect(await shop.marketing(ada.userId)).toBe(403)
})
