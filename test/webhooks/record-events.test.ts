import { describe, expect, test } from 'vitest'
import { uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { type Body, byTime, startEvents, statusOf } from './events-world.ts'

const { mailing, createMailing, get, age, service, provider, subscribe, sendText, eventIds } = await startEvents()

test('an ordered registration gets edits, revocations and reactions in the order of their conversation', async () => {
  const company = await service.createCompany()
  const { bodies } = await subscribe(company.api, ['whatsapp.message.received'], { ordered: true })
  const from = uniquePhone()
  const [id, timestamp] = [newWamid(), String(secondsNow())]
  const about = { original_message_id: id }
  const next = (type: string, content: object) => ({ from, id: newWamid(), timestamp, type, [type]: content })
  await provider.messages(
    company.phoneNumberId,
    { ...textFrom(from, 'Hello'), id },
    next('edit', { ...about, message: { type: 'text', text: { body: 'Hello!' } } }),
    next('reaction', { message_id: id, emoji: '👍' }),
    next('revoke', about),
  )
  const got = await bodies(4)
  expect(got.map(({ message }) => message.type)).toEqual(['text', 'edit', 'reaction', 'revoke'])
  const rows = await service.db<{ conversationId: number | null }[]>`
    select distinct conversation_id from deliveries where company_id = ${company.companyId}
  `
  expect(rows).toEqual([{ conversationId: expect.any(Number) }])
})

test('a number that is not connected is no filter', async () => {
  const company = await service.createCompany()
  const other = await service.createCompany()
  const registration = { name: 'R', url: 'https://receiver.example/', events: ['contact.changed'] }
  for (const channelIds of [[999_999], [company.sender.channelId, other.sender.channelId]]) {
    const answer = await company.api('POST', '/webhooks/registrations', { ...registration, channelIds })
    expect(answer.status).toBe(422)
    expect(answer.body.error.details.fields[0].path).toBe(`channelIds[${channelIds.length - 1}]`)
  }
  const created = await company.api('POST', '/webhooks/registrations', {
    ...registration,
    channelIds: [company.sender.channelId],
  })
  expect(created.body.channelIds).toEqual([company.sender.channelId])
  const path = `/webhooks/registrations/${created.body.id}`
  expect((await company.api('PUT', path, { channelIds: [999_999] })).status).toBe(422)
  expect((await company.api('PUT', path, { channelIds: null })).body.channelIds).toBe(null)
})

test('whatsapp.template.status comes when the status of a template changes', async () => {
  const company = await service.createCompany()
  const { bodies } = await subscribe(company.api, ['whatsapp.template.status'])
  const { data } = (await company.api('GET', '/templates/whatsapp')).body
  const template = data.find(({ status }: Body) => status === 'APPROVED')
  const event = (word: string) =>
    provider.report({
      ...bodyOf(),
      entry: [
        {
          id: template.waba_account_id,
          time: secondsNow(),
          changes: [
            {
              field: 'message_template_status_update',
              value: {
                event: word,
                message_template_id: template.external_id,
                message_template_name: template.name,
                message_template_language: template.language,
                reason: word === 'REJECTED' ? 'SCAM' : null,
              },
            },
          ],
        },
      ],
    })
  await event('REJECTED')
  await event('REJECTED')
  await event('APPROVED')
  const got = await bodies(2)
  expect(byTime(got).sort()).toEqual(['APPROVED', 'REJECTED'])
  expect(got.find(({ change }) => change === 'REJECTED').data).toMatchObject({
    id: template.id,
    language: template.language,
    status: 'REJECTED',
    rejected_reason: 'SCAM',
  })
})

describe('contact.changed', () => {
  test('comes for a contact that is created, updated, deleted, and for its consent', async () => {
    const company = await service.createCompany()
    const { bodies, received } = await subscribe(company.api, ['contact.changed'])
    const email = uniqueAddress()
    const [contact] = (await company.api('POST', '/contacts', { email, firstName: 'Ada' })).body.data
    await company.api('POST', '/contacts', { email, firstName: 'Ada' })
    await company.api('PUT', `/contacts/${contact.id}`, { firstName: 'Ida' })
    await company.api('POST', '/contacts', { email, marketingConsent: { email: false } })
    await company.api('DELETE', `/contacts/${contact.id}`)
    const got = await bodies(4)
    expect(byTime(got).sort()).toEqual(['consent', 'created', 'deleted', 'updated'])
    const of = (change: string) => got.find((body) => body.change === change).data
    expect(of('created')).toEqual(contact)
    expect(of('updated')).toMatchObject({ id: contact.id, first_name: 'Ida', deleted: false })
    expect(of('consent').marketing_consent).toEqual({ email: false, whatsapp: null })
    expect(of('deleted')).toMatchObject({ id: contact.id, deleted: true })
    expect(received).toHaveLength(4)
  })

  test('comes for the contacts that messages and sends create, and for a customer who stops marketing', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['contact.changed'])
    const [from, to] = [uniquePhone(), uniquePhone()]
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    await company.api('POST', '/templates/whatsapp/send', {
      recipient: to,
      type: 'template',
      template: { name: 'order_update', languageCode: 'en' },
    })
    expect((await bodies(1))[0]).toMatchObject({ change: 'created', data: { phone: `+${from}` } })
    const preference = { wa_id: from, category: 'marketing_messages', value: 'stop', timestamp: secondsNow() }
    await provider.report(
      bodyOf(changeOf(company.phoneNumberId, { user_preferences: [preference] }, 'user_preferences')),
    )
    await eventually(async () => (await eventIds(company.companyId)).length >= 2)
    expect((await bodies(2)).at(-1).data.marketing_consent.whatsapp).toBe(false)
  })
})

test('email.status comes when an email is sent, opened, clicked, and when its recipient unsubscribes', async () => {
  const company = await createMailing({ category: 'MARKETING' })
  const { bodies, received } = await subscribe(company.api, ['email.status'])
  const to = uniqueAddress()
  const { id } = (await company.send(to, { order: '7', name: 'Ada' })).body.data
  await mailing.untilCompleted(company.api, id)
  const [arrived] = await mailing.received(to)
  const links = mailing.linksOf(arrived.html)
  await age()
  for (let times = 0; times < 2; times += 1) {
    await get(links.pixel)
    await get(links.clicks[0]!)
  }
  const [, unsubscribe = ''] =
    /<http:\/\/[^/]+(\/public\/v1\/u\/[^>]+)>/.exec(arrived.headers['list-unsubscribe']) ?? []
  expect((await get(unsubscribe, { method: 'POST' })).status).toBe(200)
  const got = await bodies(4)
  expect(byTime(got).sort()).toEqual(['clicked', 'opened', 'sent', 'unsubscribed'])
  expect(got.find(({ change }) => change === 'clicked')).toMatchObject({
    id: `${id}.clicked`,
    data: { id, status: 'sent', opened: true, clickCount: 1 },
  })
  expect(received).toHaveLength(4)
  // The next day, the recipient follows all links again.
  await service.db`select make_delivery_days(1, 1)`
  await service.db`update envelopes set day = day - 1 where company_id = ${company.companyId}`
  await get(links.pixel)
  await get(links.clicks[0]!)
  expect((await get(unsubscribe, { method: 'POST' })).status).toBe(200)
  expect(await eventIds(company.companyId)).toHaveLength(4)
})

test('an erasure leaves nothing of the person in the events about its records', async () => {
  const company = await createMailing()
  const sender = (await service.connectSender(company.companyId)).body
  const events = ['whatsapp.message.status', 'contact.changed', 'email.status']
  const { bodies } = await subscribe(company.api, events)
  const to = uniqueAddress()
  const mail = await company.api('POST', '/emails', { to, subject: 'Order', html: '<p>Hello</p>' })
  await mailing.untilCompleted(company.api, mail.body.data.id)
  const from = uniquePhone()
  const [contact] = (await company.api('POST', '/contacts', { email: to, phone: `+${from}` })).body.data
  await provider.messages(sender.phoneNumberId, textFrom(from, 'Hello'))
  const text = { recipient: from, sender: sender.phoneNumberId, type: 'text', text: 'A secret for you' }
  expect((await company.api('POST', '/templates/whatsapp/send', text)).status).toBe(200)
  await bodies(3)
  const stored = () => service.db<{ event: string; body: string }[]>`
    select event, body from envelopes where company_id = ${company.companyId} order by event
  `
  expect((await stored()).map(({ event }) => event)).toEqual(events.toSorted())
  expect((await company.api('DELETE', `/contacts/${contact.id}?erase=true`)).status).toBe(200)
  await eventually(async () => {
    const bodies = (await stored()).map(({ body }) => body).filter((body) => body !== '{}')
    // The erasure itself is reported, by the id of the contact.
    return bodies.length === 1 && !bodies[0]!.includes(to) && !bodies[0]!.includes(from)
  })
})

test('an event that no registration wants is not written', async () => {
  const company = await service.createCompany()
  await subscribe(company.api, ['whatsapp.message.received'])
  await company.api('POST', '/contacts', { email: uniqueAddress() })
  const { wamid } = await sendText(company)
  await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'))
  const rows = await service.db`select distinct event from envelopes where company_id = ${company.companyId}`
  expect(rows).toEqual([{ event: 'whatsapp.message.received' }])
})

test('an event that does not exist cannot be subscribed to', async () => {
  const company = await service.createCompany()
  for (const event of ['whatsapp.message.deleted', 'contact.created', 'email.*']) {
    const registration = { name: 'R', url: 'https://receiver.example/', events: [event] }
    expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(422)
  }
})
