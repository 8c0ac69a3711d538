import { createHmac } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { beforeAll, describe, expect, test } from 'vitest'
import { startMailing, uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, newWamid, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { type Received, startReceiver } from '../receiver.ts'
import { eventually, type TestService, uniquePhone } from '../service.ts'

const SECRET = 'a secret of the receiver'
const mailing = await startMailing({ webhookAllowPrivate: true })
const { createMailing, get, age } = mailing
const service: TestService = mailing
const provider = providerOf(service)

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from a body is what it asserts
type Body = any

let checks: Map<string, (body: unknown) => boolean>
beforeAll(async () => {
  const { body } = await service.call(service.url, 'GET', '/openapi.json')
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  ajv.addSchema(body, 'openapi')
  checks = new Map(
    Object.keys(body.webhooks).map((event) => {
      const pointer = `openapi#/webhooks/${event}/post/requestBody/content/application~1json/schema`
      return [event, ajv.compile({ $ref: pointer })]
    }),
  )
})

/** A receiver of these events, and the bodies that it got in the order in which their deliveries were made. */
async function subscribe(api: Body, events: string[], more: object = {}) {
  const receiver = await startReceiver()
  const answer = await api('POST', '/webhooks/registrations', {
    name: 'R',
    url: receiver.url,
    events,
    secret: SECRET,
    ...more,
  })
  expect(answer.status).toBe(201)
  const bodies = async (count: number): Promise<Body[]> => {
    await eventually(async () => receiver.received.length >= count)
    return receiver.received.map(check)
  }
  return { bodies, received: receiver.received, registrationId: answer.body.id as number }
}

/** The body of a request, if its headers, its signature and its shape are those of the reference. */
function check({ headers, body }: Received): Body {
  const parsed = JSON.parse(String(body))
  expect(headers).toMatchObject({
    'x-service-event': parsed.event,
    'x-service-delivery': parsed.id ?? parsed.message.wamid,
    'x-service-signature': createHmac('sha256', SECRET).update(body).digest('hex'),
  })
  expect(checks.get(parsed.event)?.(parsed)).toBe(true)
  return parsed
}

const byTime = (bodies: Body[]) => bodies.map(({ change }) => change)
const statusOf = (id: string, status: string, more: object = {}) => ({
  id,
  status,
  timestamp: String(secondsNow()),
  recipient_id: '393331234567',
  ...more,
})

async function sendText(company: Body): Promise<{ wamid: string; messageId: number; chatId: number }> {
  const from = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
  const sent = await company.api('POST', '/templates/whatsapp/send', {
    recipient: from,
    sender: company.phoneNumberId,
    type: 'text',
    text: 'Your order is ready',
  })
  expect(sent.status).toBe(200)
  return sent.body.data
}

/** A send to a provider that behaves like this, and whose outcome or acceptance is not known therefore. */
async function loseOutcome(company: Body, behaviour: object): Promise<{ messageId: number }> {
  const from = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
  await service.control('PUT', '/behaviour', behaviour)
  const text = { recipient: from, sender: company.phoneNumberId, type: 'text', text: 'Your order is ready' }
  const { status } = await company.api('POST', '/templates/whatsapp/send', text)
  await service.control('PUT', '/behaviour', { resetBeforeAnswer: null, refuseWithCode: null })
  expect(status).toBeGreaterThanOrEqual(500)
  const [message] = await service.db<{ id: number }[]>`
    select id from messages where company_id = ${company.companyId} and direction = 'outbound'
  `
  return { messageId: message!.id }
}

const eventIds = async (companyId: number) => {
  const rows = await service.db<{ eventId: string }[]>`
    select event_id from deliveries where company_id = ${companyId} order by id
  `
  return rows.map(({ eventId }) => eventId)
}

describe('whatsapp.message.status', () => {
  test('comes once for each status, in the order of rank, whatever the order of the reports', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid, messageId, chatId } = await sendText(company)
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'read'))
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'), statusOf(wamid, 'sent'))
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'read'))
    const got = await bodies(3)
    expect(await eventIds(company.companyId)).toEqual(
      ['sent', 'delivered', 'read'].map((status) => `msg_${messageId}.${status}`),
    )
    expect(got).toHaveLength(3)
    const read = got.find(({ change }) => change === 'read')
    expect(read).toMatchObject({
      version: '1',
      event: 'whatsapp.message.status',
      id: `msg_${messageId}.read`,
      companyId: company.companyId,
      data: {
        id: messageId,
        wamid,
        direction: 'outbound',
        status: 'read',
        text: 'Your order is ready',
        error: null,
        chatId,
      },
    })
    expect(got.find(({ change }) => change === 'sent').data.status).toBe('sent')
  })

  test('says why a message failed', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid } = await sendText(company)
    const errors = [{ code: 131026, title: 'Message undeliverable', error_data: { details: 'Not on WhatsApp' } }]
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'failed', { errors }))
    const failed = (await bodies(2)).find(({ change }) => change === 'failed')
    expect(failed.data).toMatchObject({
      status: 'failed',
      error: { code: 131026, title: 'Message undeliverable', details: 'Not on WhatsApp' },
    })
  })

  test('says that a message failed, and why, also when it is reported as delivered in the same body', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const { wamid, messageId } = await sendText(company)
    const errors = [{ code: 131053, title: 'Media upload error', error_data: { details: 'Too large' } }]
    const failed = statusOf(wamid, 'failed', { errors })
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'), failed, failed)
    const got = await bodies(3)
    expect(await eventIds(company.companyId)).toEqual(
      ['sent', 'failed', 'delivered'].map((status) => `msg_${messageId}.${status}`),
    )
    const errorOf = (status: string) => got.find(({ change }) => change === status).data.error
    expect(errorOf('failed')).toEqual({ code: 131053, title: 'Media upload error', details: 'Too large' })
    expect(errorOf('delivered')).toBeNull()
  })

  describe('of a send whose outcome was lost', () => {
    const errors = [{ code: 131053, title: 'Media upload error' }]
    test.each<[string, object[][], string[]]>([
      ['failed', [[{ status: 'failed', errors }]], ['sent', 'failed']],
      [
        'failed, then delivered',
        [[{ status: 'failed', errors }], [{ status: 'delivered' }]],
        ['sent', 'failed', 'delivered'],
      ],
      ['sent and failed at once', [[{ status: 'sent' }, { status: 'failed', errors }]], ['sent', 'failed']],
      ['failed, then sent', [[{ status: 'failed', errors }], [{ status: 'sent' }]], ['sent', 'failed']],
      ['read', [[{ status: 'read' }]], ['sent', 'delivered', 'read']],
    ])('comes for each status if the provider reports %s', async (_, posted, statuses) => {
      const company = await service.createCompany()
      const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
      const { messageId } = await loseOutcome(company, { resetBeforeAnswer: true })
      const report = { id: newWamid(), timestamp: String(secondsNow()), recipient_id: '393331234567' }
      const reference = { biz_opaque_callback_data: String(messageId) }
      for (const body of posted) {
        await provider.statuses(
          company.phoneNumberId,
          ...body.map((status) => ({ ...report, ...reference, ...status })),
        )
      }
      await bodies(statuses.length)
      expect(await eventIds(company.companyId)).toEqual(statuses.map((status) => `msg_${messageId}.${status}`))
    })

    test('comes as sent and delivered for a refused message that the provider delivers all the same', async () => {
      const company = await service.createCompany()
      const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
      const { messageId } = await loseOutcome(company, { refuseWithCode: 131000 })
      const report = { ...statusOf(newWamid(), 'delivered'), biz_opaque_callback_data: String(messageId) }
      await provider.statuses(company.phoneNumberId, report)
      expect(byTime(await bodies(3)).toSorted()).toEqual(['delivered', 'failed', 'sent'])
    })
  })

  test('comes for a refused send', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    await service.control('PUT', '/behaviour', { refuseWithCode: 131026 })
    const text = { recipient: from, sender: company.phoneNumberId, type: 'text', text: 'Your order is ready' }
    const refused = await company.api('POST', '/templates/whatsapp/send', text)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect(refused.status).toBe(422)
    const got = await bodies(1)
    expect(byTime(got)).toEqual(['failed'])
    expect(got[0].data).toMatchObject({ status: 'failed', error: { code: 131026 } })
  })

  test('comes for a message from the phone app', async () => {
    const company = await service.createCompany()
    const { bodies } = await subscribe(company.api, ['whatsapp.message.status'])
    const wamid = newWamid()
    await provider.echoes(company.phoneNumberId, {
      ...textFrom('390000000', 'On my way'),
      id: wamid,
      to: uniquePhone(),
    })
    await provider.statuses(company.phoneNumberId, statusOf(wamid, 'delivered'))
    expect(byTime(await bodies(2)).sort()).toEqual(['delivered', 'sent'])
  })

  test('is for the numbers of a registration alone', async () => {
    const company = await service.createCompany()
    const other = (await service.connectSender(company.companyId)).body
    const one = await subscribe(company.api, ['whatsapp.message.status', 'contact.changed'], {
      channelIds: [other.channelId],
    })
    const all = await subscribe(company.api, ['whatsapp.message.status'])
    await sendText(company)
    await sendText({ ...company, phoneNumberId: other.phoneNumberId, api: company.api })
    await all.bodies(2)
    const got = await one.bodies(2)
    expect(got.filter(({ event }) => event === 'contact.changed')).toHaveLength(2)
    const { id } = company.sender
    expect(got.some(({ event, data }) => event === 'whatsapp.message.status' && data.sender.channelId === id)).toBe(
      false,
    )
  })
})

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
