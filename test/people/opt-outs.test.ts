import { describe, expect, test } from 'vitest'
import { secondsNow } from '../provider-webhook.ts'
import { eventually } from '../service.ts'
import { newPerson, newUserId, SEND, type Shop, startPeople } from './people-world.ts'

const { service, createShop } = await startPeople()

const optOut = { marketingConsent: { whatsapp: false } }
const optIn = { marketingConsent: { whatsapp: true } }

async function importList(shop: Shop, list: string) {
  const headers = { authorization: `Bearer ${shop.key.token}`, 'content-type': 'text/csv' }
  const taken = await service.call(service.url, 'POST', '/public/v1/contacts/import', list, headers)
  expect(taken.status).toBe(202)
  await eventually(async () => {
    const progress = await shop.api('GET', `/contacts/imports/${taken.body.data.id}`)
    return progress.body.data.status === 'completed'
  })
}

describe('the latest statement counts', () => {
  test('a repeated resume changes nothing after an opt-out by the API', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const { id } = await shop.createContact({ phone })
    const resume = shop.events.preference({ phone }, 'resume', { timestamp: secondsNow() - 60 })
    await shop.report(resume)
    expect((await shop.consentOf(id)).whatsapp).toBe(true)
    await shop.api('PUT', `/contacts/${id}`, optOut)
    await shop.report(resume)
    expect((await shop.consentOf(id)).whatsapp).toBe(false)
    expect(await shop.marketing(phone)).toBe(403)
  })

  test('a resume that was said before a stop changes nothing when it arrives after it', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const now = secondsNow()
    await shop.report(shop.events.preference({ phone }, 'stop', { timestamp: now - 10 }))
    await shop.report(shop.events.preference({ phone }, 'resume', { timestamp: now - 20 }))
    expect(await shop.marketing(phone)).toBe(403)
  })

  test.each([60, 3_600, 86_400])('a stop counts after a resume whose clock was %i s ahead', async (seconds) => {
    const shop = await createShop()
    const { phone } = newPerson()
    const ahead = shop.events.preference({ phone }, 'resume', { timestamp: secondsNow() + seconds })
    await shop.report(ahead)
    await shop.report(shop.events.preference({ phone }, 'stop'))
    expect(await shop.marketing(phone)).toBe(403)
    // The provider repeats events for days.
    await shop.report(ahead)
    expect(await shop.marketing(phone)).toBe(403)
  })

  test('a stop that was said before a resume changes nothing when it arrives after it', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const now = secondsNow()
    await shop.report(shop.events.preference({ phone }, 'resume', { timestamp: now - 10 }))
    await shop.report(shop.events.preference({ phone }, 'stop', { timestamp: now - 20 }))
    expect(await shop.marketing(phone)).toBe(200)
  })

  test('a stop that was said before an opt-in by the API changes nothing when it arrives after it', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const { id } = await shop.createContact({ phone, ...optIn })
    await shop.report(shop.events.preference({ phone }, 'stop', { timestamp: secondsNow() - 3600 }))
    expect((await shop.consentOf(id)).whatsapp).toBe(true)
    expect(await shop.marketing(phone)).toBe(200)
  })
})

describe('an opt-out holds for', () => {
  test('a person with a second contact that shares the number', async () => {
    const shop = await createShop()
    const { phone } = newPerson()
    const first = await shop.createContact({ email: 'first@example.org', phone })
    const second = await shop.createContact({ email: 'second@example.org' })
    await shop.api('PUT', `/contacts/${second.id}`, { phone })
    expect((await shop.contacts()).map((one: { phone: string }) => one.phone)).toEqual([`+${phone}`, `+${phone}`])
    await shop.api('PUT', `/contacts/${second.id}`, optOut)
    expect(await shop.marketing(phone)).toBe(403)
    await shop.api('PUT', `/contacts/${first.id}`, optIn)
    expect(await shop.marketing(phone)).toBe(200)
  })

  test('a person who changes to a number that an imported contact has', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.createContact({ email: 'imported@example.org', phone: after.phone })
    await shop.report(shop.events.message(before, 'Hello'))
    const { contact } = await shop.inbox.find(before.phone)
    await shop.api('PUT', `/contacts/${contact.id}`, optOut)
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('a person who said it at the provider and changes the number', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'Hello'))
    await shop.report(shop.events.preference(before, 'stop'))
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('a person who is no contact yet, said it at the provider and changes the number', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.preference(before, 'stop'))
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('a person whose contact opted out, and who changes the number before any message', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.createContact({ phone: before.phone, ...optOut })
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('a person whose contact opted out, and who changes to the number of an imported contact', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.createContact({ phone: before.phone, ...optOut })
    await shop.createContact({ email: 'imported@example.org', phone: after.phone })
    await shop.report(shop.events.numberChanged(before, after))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('a person whose contact opted out before the report of an earlier number change arrived', async () => {
    const shop = await createShop()
    const [before, after] = [newPerson(), newPerson()]
    await shop.report(shop.events.message(before, 'Hello', { timestamp: secondsNow() - 7200 }))
    const { contact } = await shop.inbox.find(before.phone)
    await shop.createContact({ email: 'imported@example.org', phone: after.phone })
    await shop.api('PUT', `/contacts/${contact.id}`, optOut)
    await shop.report(shop.events.numberChanged(before, after, { timestamp: secondsNow() - 3600 }))
    expect(await shop.marketing(after.phone)).toBe(403)
  })

  test('both identities that the statement at the provider named, as an opt-in does', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.report(shop.events.preference(ada, 'stop', { timestamp: secondsNow() - 60 }))
    expect([await shop.marketing(ada.phone), await shop.marketing(ada.userId)]).toEqual([403, 403])
    await shop.createContact({ phone: ada.phone, ...optIn })
    expect([await shop.marketing(ada.phone), await shop.marketing(ada.userId)]).toEqual([200, 200])
  })

  test('a person who said it under a user id, and whose number is an imported contact’s', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.createContact({ email: 'imported@example.org', phone: ada.phone })
    await shop.report(shop.events.message({ userId: ada.userId }, 'Hidden'))
    await shop.report(shop.events.preference({ userId: ada.userId }, 'stop'))
    await shop.report(shop.events.message(ada, 'With the number'))
    expect(await shop.marketing(ada.phone)).toBe(403)
  })

  test('a person with another number at the provider than the requested one', async () => {
    const shop = await createShop()
    const [requested, waId] = [newPerson().phone, newPerson().phone]
    await service.control('POST', '/customers', { phoneNumberId: shop.phoneNumberId, phone: requested, waId })
    await shop.report(shop.events.message({ phone: waId }, 'Hello'))
    const { chatId, contact } = await shop.inbox.find(waId)
    await shop.api('PUT', `/contacts/${contact.id}`, optOut)
    expect((await shop.send(requested)).status).toBe(200)
    expect(await shop.marketing(requested)).toBe(403)
    expect((await shop.inbox.list()).find((one) => one.chatId === chatId).contact.id).toBe(contact.id)
  })

  test('a person whose contact is deleted and who writes again by user id', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.report(shop.events.message(ada, 'Hello'))
    const { contact } = await shop.inbox.find(ada.phone)
    await shop.api('PUT', `/contacts/${contact.id}`, optOut)
    await shop.api('DELETE', `/contacts/${contact.id}`)
    await shop.report(shop.events.message({ userId: ada.userId }, 'Hidden'))
    expect(await shop.marketing(ada.userId)).toBe(403)
    expect(await shop.marketing(ada.phone)).toBe(403)
  })

  test('replies as for templates', async () => {
    const shop = await createShop()
    const ada = newPerson()
    await shop.report(shop.events.message(ada, 'Hello'))
    const { chatId, contact } = await shop.inbox.find(ada.phone)
    await shop.api('PUT', `/contacts/${contact.id}`, optOut)
    const components = [{ type: 'BODY', parameters: ['Ada', 'HELLO'].map((text) => ({ type: 'text', text })) }]
    const template = { type: 'template', template: { name: 'welcome_offer', components } }
    expect((await shop.api('POST', `/whatsapp/conversations/${chatId}/messages`, template)).status).toBe(403)
    expect((await shop.api('POST', SEND, { recipient: ada.phone, ...template })).status).toBe(403)
  })

  test('the former owner of a recycled number', async () => {
    const shop = await createShop()
    const ada = newPerson()
    const ben = newUserId()
    await shop.report(shop.events.message(ada, 'From Ada'))
    await shop.report(shop.events.preference({ userId: ada.userId }, 'stop'))
    await shop.report(shop.events.message({ phone: ada.phone, userId: ben }, 'From Ben'))
    expect(await shop.marketing(ada.userId)).toBe(403)
  })
})

describe('rows act one after the other', () => {
  const email = 'ada@example.org'
  const ways: [string, (shop: Shop, first: string, second: string) => Promise<unknown>][] = [
    [
      'two calls',
      async (shop, first, second) => {
        await shop.createContact({ email, phone: first, ...optOut })
        await shop.createContact({ email, phone: second })
      },
    ],
    [
      'an array',
      (shop, first, second) =>
        shop.createContact([
          { email, phone: first, ...optOut },
          { email, phone: second },
        ]),
    ],
    [
      'an imported list',
      (shop, first, second) =>
        importList(shop, `email,phone,marketing_consent.whatsapp\n${email},${first},false\n${email},${second},\n`),
    ],
  ]
  test.each(ways)('%s: an opt-out stays with the number that the next row takes away', async (_, write) => {
    const shop = await createShop()
    const [first, second] = [newPerson().phone, newPerson().phone]
    await write(shop, first, second)
    expect(await shop.contacts()).toMatchObject([{ email, phone: `+${second}` }])
    expect(await shop.marketing(first)).toBe(403)
  })
})

describe('another email keeps no email consent', () => {
  test.each(['PUT by id', 'a write matched by phone'])('%s', async (way) => {
    const shop = await createShop()
    const { phone } = newPerson()
    const { id } = await shop.createContact({ email: 'old@example.org', phone, marketingConsent: { email: true } })
    const next = { email: 'new@example.org' }
    if (way === 'PUT by id') await shop.api('PUT', `/contacts/${id}`, next)
    else await shop.createContact({ ...next, phone })
    expect(await shop.contacts()).toMatchObject([{ id, email: 'new@example.org', marketing_consent: { email: null } }])
  })
})
