import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { PAIR_BURST } from '../src/messages/throttle.ts'
import type { ProviderName } from '../src/providers/provider-name.ts'
import { eventually, startTestService, type TestService, uniquePhone } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ config: { providerTimeoutMs: 2_000, baseUrl: 'https://api.example.com' } })
})

const SEND = '/templates/whatsapp/send'
const HOOK = '/public/v1/webhooks/whatsapp'
const PROVIDER_NAMES: ProviderName[] = ['meta', 'dialog360', 'gupshup']
const digits = (count: number): string => String(randomInt(10 ** (count - 1), 10 ** count))

/** A number of its own at the provider, with an account and templates of its own. */
async function numberAt(provider: ProviderName, given: object = {}) {
  const phoneNumberId = `4${digits(12)}`
  const wabaAccountId = `5${digits(12)}`
  const app = { id: randomUUID(), name: `App${digits(8)}` }
  const displayPhoneNumber = `+39 ${digits(10)}`
  await service.control('POST', '/numbers', {
    phoneNumberId,
    displayPhoneNumber,
    verifiedName: 'Acme at its provider',
    wabaAccountId,
    ...(provider === 'gupshup' && { app }),
    ...given,
  })
  const templates = [
    { name: 'parcel_left', category: 'UTILITY', components: [{ type: 'BODY', text: 'Your parcel has left.' }] },
    { name: 'order', category: 'UTILITY', components: [{ type: 'BODY', text: 'Order {{1}} for {{2}}' }] },
    {
      name: 'news',
      category: 'MARKETING',
      parameter_format: 'NAMED',
      components: [{ type: 'BODY', text: 'Hi {{name}}' }],
    },
  ]
  for (const template of templates) {
    await service.control('POST', '/templates', { wabaAccountId, language: 'it', ...template })
  }
  const { url } = service.sandbox
  const bases = {
    meta: url,
    dialog360: `${url}/dialog360`,
    gupshup: `${url}/gupshup/partner/app/${app.id}`,
  }
  return {
    phoneNumberId,
    wabaAccountId,
    displayPhoneNumber,
    app,
    body: {
      provider,
      phoneNumberId,
      wabaAccountId,
      accessToken: `credential-${phoneNumberId}`,
      apiBaseUrl: bases[provider],
      ...(provider === 'gupshup' && { appName: app.name }),
    },
  }
}

async function connected(provider: ProviderName, given: object = {}) {
  const number = await numberAt(provider)
  const company = await service.createCompany({ isConnected: false })
  const path = `/companies/${company.companyId}/senders`
  const answer = await service.operator('POST', path, { ...number.body, ...given })
  expect([answer.status, answer.body.error]).toEqual([201, undefined])
  return { ...company, ...number, sender: answer.body, path }
}
type Connected = Awaited<ReturnType<typeof connected>>

async function openWindow({ phoneNumberId }: { phoneNumberId: string }) {
  const from = uniquePhone()
  await service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
  await eventually(async () => {
    const rows = await service.db`select 1 from conversations where customer = ${from} and last_inbound_at is not null`
    return rows.length > 0
  })
  return from
}

/** The last request that the provider accepted for that recipient. */
async function takenBy(recipient: string) {
  const { body } = await service.control('GET', '/messages?limit=500')
  return body.find((message: { to: string }) => message.to === recipient)
}

const rowOf = async (messageId: number) =>
  (await service.db`select status, wamid, provider_message_id, error from messages where id = ${messageId}`)[0]

const untilStatus = (messageId: number, status: string) =>
  eventually(async () => {
    const row = await rowOf(messageId)
    return row?.status === status && row
  })

const text = (value: string) => ({ type: 'text', text: value })

describe.each(PROVIDER_NAMES)('the whole story through %s', (provider) => {
  let number: Connected
  beforeAll(async () => {
    number = await connected(provider)
  })

  test('the number is connected with what the provider knows of it, and told where its events must come', async () => {
    expect(number.sender).toMatchObject({ provider, phoneName: 'Acme at its provider', isPreferred: true })
    expect(number.sender.phoneNumber.replaceAll(/\D/g, '')).toBe(number.displayPhoneNumber.replaceAll(/\D/g, ''))
    expect(number.sender.webhookUrl).toBe(`https://api.example.com${HOOK}`)
    expect(number.sender.webhookSteps).toContain(number.sender.webhookUrl)
    const { body } = await number.api('GET', '/templates/whatsapp/senders')
    expect(body.items).toEqual([
      {
        channelId: Number(number.sender.channelId),
        phoneNumber: number.sender.phoneNumber,
        phoneName: 'Acme at its provider',
        phoneNumberId: number.phoneNumberId,
        isPreferred: true,
      },
    ])
  })

  test('its templates are there as soon as it is connected', async () => {
    const { body } = await number.api('GET', '/templates/whatsapp')
    expect(body.data.map(({ name, language, status }: Record<string, string>) => ({ name, language, status }))).toEqual(
      ['news', 'order', 'parcel_left'].map((name) => ({ name, language: 'it', status: 'APPROVED' })),
    )
    expect(body.data[0].components[0]).toMatchObject({ type: 'BODY', text: 'Hi {{name}}' })
    const synced = await service.operator('POST', `/companies/${number.companyId}/templates/sync`)
    expect([synced.status, synced.body]).toEqual([200, { synced: 3 }])
  })

  const link = 'https://example.com/file'
  const components = [{ type: 'BODY', parameters: [text('A-1'), text('Ada')] }]
  const named = [{ type: 'BODY', parameters: [text('Ada')] }]
  test.each<[string, object, object]>([
    ['text', { type: 'text', text: 'Ciao' }, { text: { body: 'Ciao', preview_url: false } }],
    ['image', { type: 'image', media: { link, caption: 'Look' } }, { image: { link, caption: 'Look' } }],
    ['video', { type: 'video', media: { link } }, { video: { link } }],
    ['audio', { type: 'audio', media: { link } }, { audio: { link } }],
    ['document', { type: 'document', media: { link, filename: 'a.pdf' } }, { document: { link, filename: 'a.pdf' } }],
    ['sticker', { type: 'sticker', media: { link } }, { sticker: { link } }],
    [
      'a positional template',
      { type: 'template', template: { name: 'order', components } },
      { template: { name: 'order', language: { code: 'it' }, components: [{ ...components[0], type: 'body' }] } },
    ],
    [
      'a named template',
      { type: 'template', template: { name: 'news', components: named } },
      {
        template: {
          name: 'news',
          language: { code: 'it' },
          components: [{ type: 'body', parameters: [{ ...text('Ada'), parameter_name: 'name' }] }],
        },
      },
    ],
  ])('sends %s', async (_, content, expected) => {
    const recipient = await openWindow(number)
    const { status, body } = await number.api('POST', SEND, { recipient, ...content })
    expect([status, body.error]).toEqual([200, undefined])
    const taken = await takenBy(recipient)
    expect(taken).toMatchObject({ phoneNumberId: number.phoneNumberId, body: { to: recipient, ...expected } })
    expect(body.data.wamid).toBe(provider === 'gupshup' ? null : taken.wamid)
    expect((await rowOf(body.data.messageId))?.status).toBe('sent')
  })

  test('sends a file that the number uploaded', async () => {
    const recipient = await openWindow(number)
    const providerMediaId = await service.uploadMedia(number.phoneNumberId)
    const { status } = await number.api('POST', SEND, { recipient, type: 'sticker', media: { providerMediaId } })
    expect(status).toBe(200)
    expect((await takenBy(recipient)).body.sticker).toEqual({ id: providerMediaId })
  })

  test('hears of a message on its way, in any order, and knows its wamid', async () => {
    const recipient = uniquePhone()
    const template = { name: 'parcel_left' }
    const { body } = await number.api('POST', SEND, { recipient, type: 'template', template })
    const { wamid } = await takenBy(recipient)
    for (const status of ['delivered', 'sent', 'read']) await service.control('POST', '/status', { wamid, status })
    expect(await untilStatus(body.data.messageId, 'read')).toMatchObject({ wamid, error: null })
  })

  test('hears why a message failed', async () => {
    const recipient = uniquePhone()
    const template = { name: 'parcel_left' }
    const { body } = await number.api('POST', SEND, { recipient, type: 'template', template })
    const { wamid } = await takenBy(recipient)
    const errors = [{ code: 131049, title: 'Withheld', error_data: { details: 'Too much marketing' } }]
    await service.control('POST', '/status', { wamid, status: 'failed', errors })
    const { error } = await untilStatus(body.data.messageId, 'failed')
    expect(error).toEqual({ code: 131049, title: 'Withheld', details: 'Too much marketing' })
  })

  test.each<[string, object, object]>([
    ['text', { text: { body: 'Hello' } }, { type: 'text', text: 'Hello' }],
    ['image', { image: { caption: 'Look' } }, { type: 'image', text: 'Look' }],
    ['video', {}, { type: 'video', text: '[video]' }],
    ['audio', { audio: { voice: true } }, { type: 'audio', text: '[audio]' }],
    ['document', { document: { filename: 'a.pdf' } }, { type: 'document' }],
    ['sticker', {}, { type: 'image', text: '[sticker]' }],
    ['location', { location: { latitude: 45, longitude: 9, name: 'Milan' } }, { type: 'text', text: 'Milan' }],
    ['contacts', { contacts: [{ name: { formatted_name: 'Ada' } }] }, { type: 'text', text: '[contacts]' }],
    ['button', { button: { text: 'Yes', payload: 'YES' } }, { type: 'text', text: 'Yes' }],
    [
      'interactive',
      { interactive: { type: 'list_reply', list_reply: { id: '1', title: 'One' } } },
      { type: 'text', text: 'One' },
    ],
  ])('receives %s', async (type, content, expected) => {
    const given = { phoneNumberId: number.phoneNumberId, from: uniquePhone(), name: 'Ada', type, ...content }
    const { body } = await service.control('POST', '/inbound', given)
    const row = await eventually(async () => {
      const rows = await service.db`select type, text, media from messages where wamid = ${body.wamid}`
      return rows[0]
    })
    expect(row).toMatchObject(expected)
  })

  test('keeps the bytes of what a customer sent', async () => {
    const given = { phoneNumberId: number.phoneNumberId, from: uniquePhone(), type: 'image' }
    const { body } = await service.control('POST', '/inbound', given)
    const chatId = await eventually(async () => {
      const rows = await service.db`select conversation_id from messages where wamid = ${body.wamid}`
      return rows[0]?.conversationId as number | undefined
    })
    await eventually(async () => {
      const rows = await service.db`
        select 1 from media where company_id = ${number.companyId} and state = 'stored'
      `
      return rows.length > 0
    })
    const messages = await number.api('GET', `/whatsapp/conversations/${chatId}/messages`)
    const { url, type } = messages.body.data[0].media
    const fetched = await fetch(new URL(new URL(url).pathname, service.url))
    expect([fetched.status, type]).toEqual([200, 'image/jpeg'])
    expect(Buffer.from(await fetched.arrayBuffer()).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
  })

  test('hears that a template was rejected, and that it is good again', async () => {
    const { body: all } = await service.control('GET', '/templates')
    const { id } = all.find(
      (one: { wabaAccountId: string; name: string }) =>
        one.wabaAccountId === number.wabaAccountId && one.name === 'parcel_left',
    )
    const statusOf = async () => {
      const { body } = await number.api('GET', '/templates/whatsapp')
      return body.data.find((one: { name: string }) => one.name === 'parcel_left')
    }
    await service.control('POST', `/templates/${id}/status`, { status: 'REJECTED', reason: 'SCAM' })
    const rejected = await eventually(async () => {
      const template = await statusOf()
      return template.status === 'REJECTED' && template
    })
    expect(rejected).toMatchObject({ rejected_reason: 'SCAM', external_id: id })
    await service.control('POST', `/templates/${id}/status`, { status: 'APPROVED' })
    await eventually(async () => (await statusOf()).status === 'APPROVED')
  })

  test('a repeated request with its Idempotency-Key answers the same again', async () => {
    const body = { recipient: uniquePhone(), type: 'template', template: { name: 'parcel_left' } }
    const first = await number.api('POST', SEND, body, { 'idempotency-key': 'once' })
    const second = await number.api('POST', SEND, body, { 'idempotency-key': 'once' })
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
  })

  test('an answer that was never written is made up from the message', async () => {
    const body = { recipient: uniquePhone(), type: 'template', template: { name: 'parcel_left' } }
    const first = await number.api('POST', SEND, body, { 'idempotency-key': 'lost' })
    await service.db`
      update idempotency_keys set answer_status = null, answer_body = null, lease_until = now() - interval '1 minute'
      where company_id = ${number.companyId} and key = 'lost'
    `
    const second = await number.api('POST', SEND, body, { 'idempotency-key': 'lost' })
    expect([second.status, second.body]).toEqual([200, first.body])
  })
})

describe('differences of Gupshup', () => {
  let number: Connected
  beforeAll(async () => {
    number = await connected('gupshup')
  })

  async function sendOne() {
    const recipient = uniquePhone()
    const template = { name: 'parcel_left' }
    const { body } = await number.api('POST', SEND, { recipient, type: 'template', template })
    return { messageId: body.data.messageId as number, taken: await takenBy(recipient) }
  }

  test('the wamid comes with the event that the message was enqueued', async () => {
    const { messageId, taken } = await sendOne()
    expect(await rowOf(messageId)).toMatchObject({ wamid: null, providerMessageId: taken.gupshup.id })
    await service.control('POST', '/status', { wamid: taken.wamid, status: 'enqueued' })
    const row = await eventually(async () => {
      const found = await rowOf(messageId)
      return found?.wamid ? found : undefined
    })
    expect(row).toMatchObject({ wamid: taken.wamid, status: 'sent' })
  })

  test('its platform fails a message by its own id, without a number or an account', async () => {
    const { messageId, taken } = await sendOne()
    const platform = { code: 1003, reason: 'The wallet is empty' }
    await service.control('POST', '/status', { wamid: taken.wamid, status: 'failed', platform })
    const { error, wamid } = await untilStatus(messageId, 'failed')
    expect([error, wamid]).toEqual([{ code: 1003, title: 'The wallet is empty', details: null }, null])
  })

  test('a status that comes before its message is known waits for it', async () => {
    const { messageId, taken } = await sendOne()
    // As if the answer to the send were still on its way to the database.
    await service.db`update messages set provider_message_id = null where id = ${messageId}`
    const platform = { code: 1002, reason: 'Not on WhatsApp' }
    await service.control('POST', '/status', { wamid: taken.wamid, status: 'failed', platform })
    const waiting = () => service.db`select 1 from waiting_statuses where provider_message_id = ${taken.gupshup.id}`
    await eventually(async () => (await waiting()).length === 1)
    await service.db`update messages set provider_message_id = ${taken.gupshup.id} where id = ${messageId}`
    await untilStatus(messageId, 'failed')
    expect(await waiting()).toHaveLength(0)
  })

  test('set-callback, billing and events of unknown apps are answered 200 and change nothing', async () => {
    const status = { type: 'set-callback', status: 'success', timestamp: 1_751_247_600_123 }
    const bodies = [status, { type: 'billing-event', gs_id: randomUUID(), status: 'x' }].map((one) => ({
      object: 'whatsapp_business_account',
      gs_app_id: number.app.id,
      entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses: [one] } }] }],
    }))
    for (const body of bodies) expect((await service.call(service.url, 'POST', HOOK, body)).status).toBe(200)
  })

  test('events of an app that is connected later are requeued then', async () => {
    const later = await numberAt('gupshup')
    const gsId = randomUUID()
    const status = { gs_id: gsId, id: `wamid.${gsId}`, status: 'enqueued', timestamp: 1_751_247_600_123 }
    await service.call(service.url, 'POST', HOOK, {
      gs_app_id: later.app.id,
      entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses: [status] } }] }],
    })
    const deadLetters = () => service.db`select 1 from inbound_items where app = ${later.app.id}`
    await eventually(async () => (await deadLetters()).length === 1)
    const { companyId } = await service.createCompany({ isConnected: false })
    await service.operator('POST', `/companies/${companyId}/senders`, later.body)
    expect(await deadLetters()).toHaveLength(0)
  })
})

describe('connecting', () => {
  test.each(
    PROVIDER_NAMES,
  )('through %s with a credential that is refused: 422 naming accessToken', async (provider) => {
    const { body } = await numberAt(provider)
    const { companyId } = await service.createCompany({ isConnected: false })
    const path = `/companies/${companyId}/senders`
    const answer = await service.operator('POST', path, { ...body, accessToken: 'refused' })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'validation_error'])
    expect(answer.body.error.details.fields).toMatchObject([{ path: 'accessToken' }])
    expect((await service.operator('GET', path)).body).toEqual([])
  })

  test('a new credential is tried before it replaces the old one', async () => {
    const { path, sender } = await connected('meta')
    const answer = await service.operator('PATCH', `${path}/${sender.channelId}`, { accessToken: 'refused' })
    expect([answer.status, answer.body.error.details.fields[0].path]).toEqual([422, 'accessToken'])
    const accepted = await service.operator('PATCH', `${path}/${sender.channelId}`, { accessToken: 'another' })
    expect(accepted.status).toBe(200)
  })

  test.each(PROVIDER_NAMES)('through %s while it is away needs name and number', async (provider) => {
    const { body } = await numberAt(provider)
    const { companyId } = await service.createCompany({ isConnected: false })
    const path = `/companies/${companyId}/senders`
    const away = { ...body, apiBaseUrl: 'http://127.0.0.1:9/partner/app/x' }
    const refused = await service.operator('POST', path, away)
    expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable'])
    expect(refused.body.error.message).toContain('could not be reached')
    const given = { phoneNumber: '+39 333 1112223', phoneName: 'Acme' }
    const answer = await service.operator('POST', path, { ...away, ...given })
    expect([answer.status, answer.body]).toMatchObject([201, given])
  })

  test.each([
    [400, 100, 'Unsupported get request. Object with ID does not exist', 422, 'wabaAccountId'],
    [403, 10, 'Application does not have permission for this action', 422, 'accessToken'],
    [400, 200, 'Permissions error', 422, 'accessToken'],
    [500, 2, 'Service temporarily unavailable', 201, undefined],
    [400, 4, 'Application request limit reached', 201, undefined],
  ])('answered %i with code %i: the refusal in its own words, whatever else was given', async (...given) => {
    const [status, code, message, expected, path] = given
    const server = createServer((_request, response) => {
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { code, message } }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const apiBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { companyId } = await service.createCompany({ isConnected: false })
    const { body } = await numberAt('meta')
    const named = { ...body, apiBaseUrl, phoneNumber: '+39 333 1112223', phoneName: 'Acme' }
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, named)
    server.close()
    expect(answer.status).toBe(expected)
    if (path === undefined) return
    const [field] = answer.body.error.details.fields
    expect(field).toEqual({ path, message: `is refused by the provider: ${code}: ${message}` })
  })

  test.each([
    ['without its name', {}],
    ['with number and name', { phoneNumber: '+39 333 1112223', phoneName: 'Acme' }],
  ])('a number that the provider does not list, %s: 422 naming phoneNumberId', async (_, given) => {
    const { companyId } = await service.createCompany({ isConnected: false })
    const { body } = await numberAt('meta')
    const unlisted = { ...body, ...given, phoneNumberId: '1' }
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, unlisted)
    expect([answer.status, answer.body.error.details?.fields[0].path]).toEqual([422, 'phoneNumberId'])
  })

  test("given values take precedence over the provider's", async () => {
    const { sender } = await connected('dialog360', { phoneName: 'My name', phoneNumber: '+1 555 0100001' })
    expect(sender).toMatchObject({ phoneName: 'My name', phoneNumber: '+1 555 0100001' })
  })

  test('a number that the phone app uses too is known as such', async () => {
    const { body } = await numberAt('meta', { isOnBizApp: true })
    const { companyId } = await service.createCompany({ isConnected: false })
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, body)
    expect(answer.body).toMatchObject({ isSharedWithApp: true, throughputPerSecond: null })
  })
})

describe('events of a number that has a webhook secret', () => {
  const webhookSecret = 'a-secret-of-the-webhook'
  const post = (path: string, body: object, headers = {}) => service.call(service.url, 'POST', path, body, headers)

  test('are taken with the secret in header or path, else refused and not kept', async () => {
    const { phoneNumberId } = await connected('dialog360', { webhookSecret })
    const value = {
      messaging_product: 'whatsapp',
      metadata: { phone_number_id: phoneNumberId },
      statuses: [{ id: 'wamid.X', status: 'sent' }],
    }
    const body = { object: 'x', entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }
    // Which senders carry a secret is believed for a few seconds.
    await eventually(async () => (await post(HOOK, body)).status === 401)
    const answers = [
      await post(HOOK, body),
      await post(HOOK, body, { 'x-webhook-secret': 'wrong' }),
      await post(`${HOOK}/wrong`, body),
      await post(HOOK, body, { 'x-webhook-secret': webhookSecret }),
      await post(`${HOOK}/${webhookSecret}`, body),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 200, 200])
    expect(answers[0]?.body.error.code).toBe('unauthorized')
  })

  test('are asked for it by the app too, and no other number is', async () => {
    const { app } = await connected('gupshup', { webhookSecret })
    const statuses = [{ gs_id: randomUUID(), status: 'enqueued' }]
    const body = (id: string) => ({
      gs_app_id: id,
      entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses } }] }],
    })
    await eventually(async () => (await post(HOOK, body(app.id))).status === 401)
    expect((await post(HOOK, body(app.id), { 'x-webhook-secret': webhookSecret })).status).toBe(200)
    expect((await post(HOOK, body(randomUUID()))).status).toBe(200)
  })

  test('is never shown', async () => {
    const { path, sender } = await connected('gupshup', { webhookSecret })
    const shown = JSON.stringify([sender, (await service.operator('GET', path)).body])
    expect(shown).not.toContain(webhookSecret)
    expect(sender.webhookSteps).toContain('X-Webhook-Secret')
  })

  test('must be long enough to be one', async () => {
    const { body } = await numberAt('dialog360')
    const { companyId } = await service.createCompany({ isConnected: false })
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, {
      ...body,
      webhookSecret: 'short',
    })
    expect(answer.status).toBe(422)
  })
})

describe('the throughput of a sender', () => {
  const template = { name: 'parcel_left' }

  test('one message too many to one customer: 429 with the time to wait, nothing written', async () => {
    const { api, companyId } = await connected('meta', { throughputPerSecond: 1_000 })
    const recipient = uniquePhone()
    const answers = await Promise.all(
      Array.from({ length: PAIR_BURST + 1 }, () => api('POST', SEND, { recipient, type: 'template', template })),
    )
    const refused = answers.find(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(PAIR_BURST)
    expect(refused?.body.error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: expect.any(Number) })
    expect(refused?.headers.get('retry-after')).toBe(String(refused?.body.error.retry_after))
    expect(await service.db`select 1 from messages where company_id = ${companyId}`).toHaveLength(PAIR_BURST)
  })

  test('a message beyond the throughput waits for its slot', async () => {
    const { api, companyId } = await connected('meta', { throughputPerSecond: 5 })
    const [before] = await service.db`select clock_timestamp() as now`
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const [after] = await service.db`
      select clock_timestamp() as now, next_slot_at from sender_limits where company_id = ${companyId}
    `
    // Four turns of 200 ms were given out, and the last of them was waited for.
    expect(after!.nextSlotAt - before!.now).toBeGreaterThanOrEqual(799)
    expect(after!.now - after!.nextSlotAt).toBeGreaterThanOrEqual(-210)
  })
})
