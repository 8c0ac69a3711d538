import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { WEBHOOK } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { SEND, startTransports } from './transports-world.ts'

const { service, numberAt, connected } = await startTransports()
type Connected = Awaited<ReturnType<typeof connected>>

async function openWindow({ phoneNumberId }: { phoneNumberId: string }) {
  const from = uniquePhone()
  await service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
  await eventually(async () => {
    const rows = await service.db`
      select 1
      from conversations conversation
      join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
      where customer.phone = ${from} and conversation.last_inbound_at is not null
    `
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

  test('the number is connected with what the provider knows of it, and answered with the address for its events', async () => {
    expect(number.sender).toMatchObject({ provider, phoneName: 'Acme at its provider', isPreferred: true })
    expect(number.sender.phoneNumber.replaceAll(/\D/g, '')).toBe(number.displayPhoneNumber.replaceAll(/\D/g, ''))
    expect(number.sender.webhookUrl).toBe(`https://api.example.com${WEBHOOK}`)
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

  test('takes the statuses of a message in any order, and knows its wamid', async () => {
    const recipient = uniquePhone()
    const template = { name: 'parcel_left' }
    const { body } = await number.api('POST', SEND, { recipient, type: 'template', template })
    const { wamid } = await takenBy(recipient)
    for (const status of ['delivered', 'sent', 'read']) await service.control('POST', '/status', { wamid, status })
    expect(await untilStatus(body.data.messageId, 'read')).toMatchObject({ wamid, error: null })
  })

  test('takes the reason why a message failed', async () => {
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
    const input = { phoneNumberId: number.phoneNumberId, from: uniquePhone(), name: 'Ada', type, ...content }
    const { body } = await service.control('POST', '/inbound', input)
    const row = await eventually(async () => {
      const rows = await service.db`select type, text, media from messages where wamid = ${body.wamid}`
      return rows[0]
    })
    expect(row).toMatchObject(expected)
  })

  test('keeps the bytes of what a customer sent', async () => {
    const input = { phoneNumberId: number.phoneNumberId, from: uniquePhone(), type: 'image' }
    const { body } = await service.control('POST', '/inbound', input)
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

  test('takes the rejection of a template, and its later approval', async () => {
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
    expect(rejected).toMatchObject({ rejected_reason: 'SCAM', external_id: id, updated_external: true })
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
    for (const body of bodies) expect((await service.call(service.url, 'POST', WEBHOOK, body)).status).toBe(200)
  })

  test('events of an app that is connected later are requeued then', async () => {
    const later = await numberAt('gupshup')
    const gsId = randomUUID()
    const status = { gs_id: gsId, id: `wamid.${gsId}`, status: 'enqueued', timestamp: 1_751_247_600_123 }
    await service.call(service.url, 'POST', WEBHOOK, {
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
