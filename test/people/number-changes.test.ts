import { describe, expect, test } from 'vitest'
import { newPerson, newUserId, startPeople, UTILITY } from './people-world.ts'

const { service, createShop } = await startPeople()

describe('a reported number change, which makes a new user id, keeps the conversation', () => {
  test.each([true, false])('when the report names the ids: %s', async (namesIds) => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'one'))
    const { chatId, contact } = await shop.inbox.find(before.phone)
    await shop.report(shop.events.numberChanged(before, after, { namesIds }))
    await shop.report(shop.events.message(after, 'two'))
    await shop.report(shop.events.message({ userId: after.userId }, 'three'))
    expect(await shop.inbox.list()).toMatchObject([
      { chatId, contact: { id: contact.id, phone: after.phone, userId: after.userId } },
    ])
    expect(await shop.inbox.texts(after.phone)).toEqual(['one', expect.any(String), 'two', 'three'])
    expect(await shop.contacts()).toHaveLength(1)
    expect(await shop.answerReaches(chatId)).toBe(after.phone)
  })

  test('and the ids that it names are shown, also of a customer known by the number alone', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message({ phone: before.phone }, 'one'))
    await shop.report(shop.events.numberChanged(before, after))
    expect((await shop.inbox.list()).map(({ contact }) => [contact.phone, contact.userId])).toEqual([
      [after.phone, after.userId],
    ])
  })

  test('before the customer writes from the new number, answers reach the new number', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'one'))
    const { chatId } = await shop.inbox.find(before.phone)
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.answerReaches(chatId)).toBe(after.phone)
  })

  test('also when an imported contact has the new number', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.createContact({ email: 'imported@example.org', phone: after.phone })
    await shop.report(shop.events.message(before, 'one'))
    const { chatId } = await shop.inbox.find(before.phone)
    await shop.report(shop.events.numberChanged(before, after))
    await shop.report(shop.events.message(after, 'two'))
    expect((await shop.inbox.list()).map((one) => one.chatId)).toEqual([chatId])
  })

  test('and only the second new user id is an unreported one', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'one'))
    const { chatId } = await shop.inbox.find(before.phone)
    await shop.report(shop.events.numberChanged(before, after, { namesIds: false }))
    await shop.report(shop.events.message(after, 'two'))
    await shop.report(shop.events.message({ phone: after.phone, userId: newUserId() }, 'from another person'))
    const recycled = await shop.inbox.find(after.phone)
    expect(recycled.chatId).not.toBe(chatId)
    expect(await shop.answerReaches(chatId)).toBe(after.userId)
  })
})

describe('after user_changed_user_id', () => {
  test.each([
    ['a customer with a phone number', true],
    ['a customer who hides the phone', false],
  ])('the conversation of %s shows the new id, and answers go to it', async (_, hasPhone) => {
    const shop = await createShop()
    const { phone, userId } = newPerson()
    const former = { phone: hasPhone ? phone : null, userId }
    const next = newUserId()
    await shop.report(shop.events.message(former, 'one'))
    const [{ chatId }] = await shop.inbox.list()
    await shop.report(shop.events.userIdChanged(former, next))
    expect((await shop.inbox.list()).map(({ contact }) => contact.userId)).toEqual([next])
    expect(await shop.answerReaches(chatId)).toBe(hasPhone ? phone : next)
    await shop.report(shop.events.message({ userId: next }, 'two'))
    expect((await shop.inbox.list()).map((one) => [one.chatId, one.contact.userId])).toEqual([[chatId, next]])
    expect(await shop.answerReaches(chatId)).toBe(hasPhone ? phone : next)
  })
})

describe('a message by user id alone belongs to the customer whose id', () => {
  const meetsConversation = async (
    learn: (
      shop: Awaited<ReturnType<typeof createShop>>,
      person: { phone: string; userId: string },
      wamid: string,
    ) => Promise<unknown>,
    before: (
      shop: Awaited<ReturnType<typeof createShop>>,
      person: { phone: string; userId: string },
    ) => Promise<unknown> = async () => {},
  ) => {
    const shop = await createShop()
    const person = newPerson()
    await before(shop, person)
    const sent = (await shop.send(person.phone)).body.data
    await learn(shop, person, sent.wamid)
    await shop.report(shop.events.message({ userId: person.userId }, 'Hidden'))
    expect((await shop.inbox.list()).map(({ chatId }) => chatId)).toEqual([sent.chatId])
    expect(await shop.contacts()).toHaveLength(1)
  }

  test('the answer to a send named', () =>
    meetsConversation(
      async () => {},
      (shop, person) => service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, ...person }),
    ))

  test('a status named', () =>
    meetsConversation((shop, person, wamid) => shop.report(shop.events.status(wamid, 'delivered', person))))

  test('an echo named', () =>
    meetsConversation((shop, person) => shop.report(shop.events.echo(person, 'From the app'))))
})

test('a conversation shows the user id that the answer to a send named', async () => {
  const shop = await createShop()
  const { phone, userId } = newPerson()
  await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone, userId })
  await shop.send(phone)
  expect((await shop.inbox.list()).map(({ contact }) => [contact.phone, contact.userId])).toEqual([[phone, userId]])
})

test('a conversation that a send opens shows the user id that a status named', async () => {
  const shop = await createShop()
  const ada = newPerson()
  const second = (await service.connectSender(shop.companyId)).body
  const { wamid } = (await shop.send(ada.phone)).body.data
  await shop.report(shop.events.status(wamid, 'delivered', ada))
  await shop.send(ada.phone, { ...UTILITY, sender: second.phoneNumberId })
  expect((await shop.inbox.list()).map(({ contact }) => [contact.phone, contact.userId])).toEqual([
    [ada.phone, ada.userId],
    [ada.phone, ada.userId],
  ])
})

test('a number that the answer to a send names under another wa_id is the same customer', async () => {
  const shop = await createShop()
  const [requested, waId] = [newPerson().phone, newPerson().phone]
  await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone: requested, waId })
  const { chatId } = (await shop.send(requested)).body.data
  await shop.report(shop.events.message({ phone: waId }, 'Hello'))
  expect((await shop.inbox.list()).map((one) => one.chatId)).toEqual([chatId])
})
