import { describe, expect, test } from 'vitest'
import { secondsNow } from '../provider-webhook.ts'
import { newPerson, startPeople, UTILITY } from './people-world.ts'

// Where the provider is told to send: an answer goes to the customer's current identity, a send to what the caller named.
const { service, createShop } = await startPeople()

/** A shop that dialled a number; the provider's answer named the customer's own. */
async function createDialled(known: object, dialled = newPerson().phone) {
  const shop = await createShop()
  await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone: dialled, ...known })
  const { chatId, wamid } = (await shop.send(dialled)).body.data
  expect(await wireOf(wamid)).toEqual({ to: dialled })

  /** What the provider got. */
  async function wireOf(of: string) {
    const { body: messages } = await service.control('GET', '/messages?limit=200')
    const { to, recipient } = messages.find((one: { wamid: string }) => one.wamid === of).body
    return { ...(to && { to }), ...(recipient && { recipient }) }
  }
  const sendTo = async (recipient: string) => wireOf((await shop.send(recipient)).body.data.wamid)
  const reply = async (chat = chatId) => {
    const { status, body, text } = await shop.api('POST', `/whatsapp/conversations/${chat}/messages`, UTILITY)
    if (status !== 200) throw new Error(text)
    return wireOf(body.data.wamid)
  }
  const shown = async (chat = chatId) => {
    const { contact } = (await shop.inbox.list()).find((one) => one.chatId === chat)
    return [contact.phone, contact.userId]
  }
  return { ...shop, dialled, chatId, wireOf, sendTo, reply, shown }
}

describe('the dialled number is the address of answers', () => {
  test('until the customer writes under the number that the provider named', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    expect(await shop.reply()).toEqual({ to: shop.dialled })
    expect(await shop.shown()).toEqual([shop.dialled, null])
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    expect(await shop.reply()).toEqual({ to: ada.phone })
    expect(await shop.shown()).toEqual([ada.phone, null])
    expect(await shop.inbox.list()).toHaveLength(1)
  })

  test.each([
    ['Mexico', '5215512345678', '525512345678'],
    ['Mexico, with the digit', '525512345679', '5215512345679'],
    ['Argentina', '541123456789', '5491123456789'],
    ['Brazil', '5511987654321', '551187654321'],
  ])('until the customer writes under the number as the provider writes it: %s', async (_, dialled, waId) => {
    const shop = await createDialled({ waId }, dialled)
    expect(await shop.reply()).toEqual({ to: dialled })
    await shop.report(shop.events.message({ phone: waId }, 'Hello'))
    expect(await shop.reply()).toEqual({ to: waId })
    expect(await shop.shown()).toEqual([waId, null])
    expect(await shop.sendTo(dialled)).toEqual({ to: dialled })
  })

  test('until the customer writes under the user id that the provider named', async () => {
    const { userId } = newPerson()
    const shop = await createDialled({ userId })
    expect(await shop.reply()).toEqual({ to: shop.dialled })
    await shop.report(shop.events.message({ userId }, 'Hello'))
    expect(await shop.reply()).toEqual({ recipient: userId })
    expect(await shop.shown()).toEqual([null, userId])
    await shop.report(shop.events.message({ userId, phone: shop.dialled }, 'It is me'))
    expect(await shop.reply()).toEqual({ to: shop.dialled })
    expect(await shop.shown()).toEqual([shop.dialled, userId])
  })

  test('also after an echo and a status, which are no messages of the customer', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone, userId: ada.userId })
    const { wamid } = (await shop.send(shop.dialled)).body.data
    await shop.report(shop.events.status(wamid, 'delivered', ada))
    await shop.report(shop.events.echo(ada, 'From the app'))
    expect(await shop.reply()).toEqual({ to: shop.dialled })
  })
})

describe('an answer goes to the identity under which the customer wrote last', () => {
  test('of two numbers', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    for (const phone of [ada.phone, shop.dialled, ada.phone, shop.dialled]) {
      await shop.report(shop.events.message({ phone }, `From ${phone}`))
      expect(await shop.reply()).toEqual({ to: phone })
    }
  })

  test('which is the number while the customer shows it and hides it by turns', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    await shop.report(shop.events.message(ada, 'Shown'))
    await shop.report(shop.events.message({ userId: ada.userId }, 'Hidden'))
    expect(await shop.reply()).toEqual({ to: ada.phone })
    expect(await shop.shown()).toEqual([ada.phone, ada.userId])
  })

  test('by the time of the messages, not by their arrival', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    const late = { timestamp: secondsNow() - 600 }
    await shop.report(shop.events.message({ phone: shop.dialled }, 'Written before', late))
    expect(await shop.reply()).toEqual({ to: ada.phone })
  })

  test('although the provider reports it with times of last year', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello', { timestamp: secondsNow() - 365 * 86_400 }))
    expect(await shop.reply()).toEqual({ to: ada.phone })
  })

  test('from each sender number', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    const second = (await service.connectSender(shop.companyId)).body.phoneNumberId
    const { chatId } = (await shop.send(shop.dialled, { ...UTILITY, sender: second })).body.data
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    expect(await shop.reply(chatId)).toEqual({ to: ada.phone })
  })

  test('and a scheduled answer to the one of its time', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const path = `/whatsapp/conversations/${shop.chatId}/messages`
    const { body } = await shop.api('POST', path, { ...UTILITY, sendAt })
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    const { id } = body.data
    await service.db`update scheduled_messages set send_at = now() where (company_id, id) = (${shop.companyId}, ${id})`
    await service.db`
      update jobs set due_at = now() where (company_id, subject_id, kind) = (${shop.companyId}, ${id}, 'message.send')
    `
    const record = () => shop.api('GET', `/whatsapp/scheduled-messages/${id}`)
    await expect.poll(async () => (await record()).body.data.status, { timeout: 60_000 }).toBe('sent')
    const { body: messages } = await service.control('GET', '/messages?limit=200')
    expect(messages.map(({ to }: { to: string }) => to)).toContain(ada.phone)
  })
})

describe('a send goes to the number as given', () => {
  test('also after the customer wrote under another one, in the same conversation', async () => {
    const ada = newPerson()
    const shop = await createDialled({ waId: ada.phone })
    await shop.report(shop.events.message({ phone: ada.phone }, 'Hello'))
    expect(await shop.sendTo(shop.dialled)).toEqual({ to: shop.dialled })
    expect(await shop.reply()).toEqual({ to: ada.phone })
    expect(await shop.inbox.list()).toHaveLength(1)
  })

  test('also after a reported number change: the number may be a new person’s', async () => {
    const [before, after] = [newPerson(), newPerson()]
    const shop = await createDialled({}, before.phone)
    await shop.report(shop.events.message(before, 'Hello'))
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.sendTo(before.phone)).toEqual({ to: before.phone })
    expect(await shop.reply()).toEqual({ to: after.phone })
    const [newest] = await shop.inbox.list()
    expect([await shop.shown(), await shop.inbox.list()]).toMatchObject([[after.phone, after.userId], { length: 2 }])
    expect(newest.chatId).toBe(shop.chatId)
  })

  test('also to a former user id, whose customer is answered at the current one', async () => {
    const [before, after] = [newPerson(), newPerson()]
    const shop = await createDialled({ userId: before.userId })
    await shop.report(shop.events.message({ userId: before.userId }, 'Hello'))
    await shop.report(shop.events.userIdChanged({ userId: before.userId }, after.userId))
    expect(await shop.sendTo(before.userId)).toEqual({ recipient: before.userId })
    expect(await shop.reply()).toEqual({ recipient: after.userId })
    expect(await shop.inbox.list()).toHaveLength(1)
  })
})
