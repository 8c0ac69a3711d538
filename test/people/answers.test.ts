import { describe, expect, test } from 'vitest'
import { newPerson, startPeople } from './people-world.ts'

const { createShop } = await startPeople()

describe('an answer reaches the writer of the last message, when the contact', () => {
  test('gets the number of another person by PUT', async () => {
    const shop = await createShop()
    const [ada, ben] = [newPerson(), newPerson()]
    await shop.report(shop.events.message({ phone: ada.phone }, 'Where is my parcel?'))
    const { chatId, contact } = await shop.inbox.find(ada.phone)
    const changed = await shop.api('PUT', `/contacts/${contact.id}`, { phone: ben.phone })
    expect(changed.body.data.phone).toBe(`+${ben.phone}`)
    expect((await shop.inbox.list()).map((one) => [one.chatId, one.contact.phone])).toEqual([[chatId, ada.phone]])
    expect(await shop.answerReaches(chatId)).toBe(ada.phone)
  })

  test('gets the number of another person by an array or a form matched by email', async () => {
    const shop = await createShop()
    const [ada, ben] = [newPerson(), newPerson()]
    const { id } = await shop.createContact({ email: 'ada@example.org', phone: ada.phone })
    await shop.report(shop.events.message({ phone: ada.phone }, 'Where is my parcel?'))
    const { chatId, contact } = await shop.inbox.find(ada.phone)
    expect(contact.id).toBe(id)
    await shop.createContact([{ email: 'ada@example.org', phone: ben.phone }])
    expect(await shop.answerReaches(chatId)).toBe(ada.phone)
  })

  test('gets the number of another person who writes, too', async () => {
    const shop = await createShop()
    const [ada, ben] = [newPerson(), newPerson()]
    await shop.report(shop.events.message({ phone: ada.phone }, 'From Ada'))
    const first = await shop.inbox.find(ada.phone)
    await shop.api('PUT', `/contacts/${first.contact.id}`, { phone: ben.phone })
    await shop.report(shop.events.message({ phone: ben.phone }, 'From Ben'))
    await shop.report(shop.events.message({ phone: ada.phone }, 'From Ada again'))
    const second = await shop.inbox.find(ben.phone)
    expect(second?.chatId).not.toBe(first.chatId)
    expect(second.contact.id).not.toBe(first.contact.id)
    expect(await shop.answerReaches(first.chatId)).toBe(ada.phone)
    expect(await shop.answerReaches(second.chatId)).toBe(ben.phone)
    expect((await shop.inbox.messages(first.chatId)).map(({ text }) => text)).toEqual(
      expect.not.arrayContaining(['From Ben']),
    )
  })

  test('is deleted', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    const { chatId, contact } = await shop.inbox.find(ada.phone)
    await shop.api('DELETE', `/contacts/${contact.id}`)
    expect(await shop.answerReaches(chatId)).toBe(ada.phone)
  })
})

describe('a conversation whose contact was deleted keeps the number of the customer', () => {
  test('after a message by user id alone', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.report(shop.events.message(ada, 'Hello'))
    const { chatId, contact } = await shop.inbox.find(ada.phone)
    await shop.api('DELETE', `/contacts/${contact.id}`)
    await shop.report(shop.events.message({ userId: ada.userId }, 'Hidden'))
    expect((await shop.inbox.list()).map((one) => [one.chatId, one.contact.phone])).toEqual([[chatId, ada.phone]])
    expect(await shop.answerReaches(chatId)).toBe(ada.phone)
  })

  test('after a reported change to another one', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'Hello'))
    const { chatId, contact } = await shop.inbox.find(before.phone)
    await shop.api('DELETE', `/contacts/${contact.id}`)
    await shop.report(shop.events.numberChanged(before, after, { namesIds: false }))
    expect((await shop.inbox.list()).map((one) => [one.chatId, one.contact.phone])).toEqual([[chatId, after.phone]])
    expect(await shop.answerReaches(chatId)).toBe(after.phone)
  })
})

test('a customer who hides the phone is answered by user id', async () => {
  const shop = await createShop()
  const { userId } = newPerson()
  await shop.report(shop.events.message({ userId }, 'Hello'))
  const [{ chatId, contact }] = await shop.inbox.list()
  expect([contact.phone, contact.userId]).toEqual([null, userId])
  expect(await shop.answerReaches(chatId)).toBe(userId)
})

describe('a reply that is refused leaves the unread messages', () => {
  test('when the window is closed', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const timestamp = Math.floor(Date.now() / 1000) - 25 * 3600
    await shop.report(shop.events.message({ phone }, 'Yesterday', { timestamp }))
    const { chatId } = await shop.inbox.find(phone)
    expect((await shop.reply(chatId)).status).toBe(422)
    expect((await shop.inbox.find(phone)).unreadMessages).toBe(1)
  })

  test('when the provider refuses it', async () => {
    const shop = await createShop()
    const phone = '3900131026'
    await shop.report(shop.events.message({ phone }, 'Hello'))
    const { chatId } = await shop.inbox.find(phone)
    expect((await shop.reply(chatId)).status).toBe(422)
    expect((await shop.inbox.find(phone)).unreadMessages).toBe(1)
  })
})
