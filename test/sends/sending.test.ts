import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, test } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { SEND, startTransports } from '../providers/transports-world.ts'
import { eventually, uniquePhone } from '../service.ts'

// Interactive messages, locations, contacts, reactions and quotes, on every transport.
const { service, connected } = await startTransports()
type Connected = Awaited<ReturnType<typeof connected>>

const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)
const body = { text: 'Is the size right?' }
const buttons = (...titles: string[]) => ({
  type: 'button',
  body,
  action: { buttons: titles.map((title) => ({ type: 'reply', reply: { id: title.toLowerCase(), title } })) },
})
const link = 'https://example.com/shoe.jpg'
const list = {
  type: 'list',
  header: { type: 'text', text: 'Delivery' },
  body: { text: 'When?' },
  footer: { text: 'Free of charge' },
  action: {
    button: 'Choose a day',
    sections: [
      { title: 'This week', rows: [{ id: 'fri', title: 'Friday', description: '9 to 12' }] },
      { title: 'Next week', rows: [{ id: 'mon', title: 'Monday' }] },
    ],
  },
}
const INTERACTIVE: [string, { type: string; body: { text: string }; [member: string]: unknown }][] = [
  ['reply buttons', buttons('Yes', 'No')],
  ['reply buttons below an image', { ...buttons('Yes'), header: { type: 'image', image: { link } } }],
  ['a list', list],
  [
    'a call to action',
    {
      type: 'cta_url',
      body,
      action: { name: 'cta_url', parameters: { display_text: 'Track it', url: 'https://example.com/1042' } },
    },
  ],
  ['a location request', { type: 'location_request_message', body, action: { name: 'send_location' } }],
  ['a contact request', { type: 'request_contact_info', body, action: { name: 'request_contact_info' } }],
  [
    'a flow',
    {
      type: 'flow',
      body,
      action: {
        name: 'flow',
        parameters: {
          flow_message_version: '3',
          flow_id: '1197715005513101',
          flow_cta: 'Book',
          flow_token: 'order-1042',
          flow_action: 'navigate',
          flow_action_payload: { screen: 'DAY', data: { days: ['fri'] } },
        },
      },
    },
  ],
]
const place = { latitude: 45.4641, longitude: 9.1919, name: 'Duomo', address: 'Piazza del Duomo, Milano' }
const cards = [
  {
    name: { formatted_name: 'Ada Rossi', first_name: 'Ada' },
    phones: [{ phone: '+39 333 1234567', wa_id: '393331234567', type: 'WORK' }],
    emails: [{ email: 'ada@example.com' }],
    org: { company: 'Rossi Shoes' },
    birthday: '1985-12-10',
  },
]

/** A message of a customer, which opens the window. */
async function written(number: Connected, from = uniquePhone(), more: object = {}) {
  const given = { phoneNumberId: number.phoneNumberId, from, type: 'text', text: { body: 'Hi' }, ...more }
  const { wamid } = (await service.control('POST', '/inbound', given)).body
  const row = await eventually(async () => {
    const rows = await service.db`
      select id, conversation_id from messages where company_id = ${number.companyId} and wamid = ${wamid}
    `
    return rows[0] as { id: number; conversationId: number } | undefined
  })
  return { from, wamid: wamid as string, messageId: Number(row.id), chatId: Number(row.conversationId) }
}

/** The last request that the provider accepted for a recipient; valid by its schema. */
async function takenBy(recipient: string) {
  const answer = await service.control('GET', '/messages?limit=500')
  const found = answer.body.find((message: { to: string }) => message.to === recipient)
  expect(isOutbound(found?.body), JSON.stringify(isOutbound.errors)).toBe(true)
  return found
}

async function shown(number: Connected, chatId: number, messageId: number) {
  const { body: answer } = await number.api('GET', `/whatsapp/conversations/${chatId}/messages/${messageId}`)
  return answer.data.message
}

describe.each(PROVIDER_NAMES)('through %s', (provider) => {
  let number: Connected
  beforeAll(async () => {
    number = await connected(provider)
  })
  const send = (content: object) => number.api('POST', SEND, content)

  /** Sends to a customer whose window is open. */
  async function sent(content: object) {
    const { from: recipient, chatId } = await written(number)
    const { status, body: answer } = await send({ recipient, ...content })
    expect([status, answer.error]).toEqual([200, undefined])
    const { messageId } = answer.data
    const { body: taken, wamid } = await takenBy(recipient)
    return { recipient, chatId, messageId, taken, wamid, record: await shown(number, chatId, messageId) }
  }

  test.each(INTERACTIVE)('sends %s, and shows it', async (_, interactive) => {
    const { taken, recipient, record, messageId } = await sent({ type: 'interactive', interactive })
    expect(taken).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: recipient,
      type: 'interactive',
      interactive,
      biz_opaque_callback_data: String(messageId),
    })
    expect(record).toMatchObject({
      type: 'text',
      text: interactive.body.text,
      status: 'sent',
      content: { type: 'interactive', interactive },
      quotedWamid: null,
      quotedMessageId: null,
    })
  })

  test('sends a file of the number above buttons', async () => {
    const id = await service.uploadMedia(number.phoneNumberId)
    const interactive = { ...buttons('Yes'), header: { type: 'image', image: { id } } }
    expect((await sent({ type: 'interactive', interactive })).taken.interactive.header.image).toEqual({ id })
  })

  test('sends a location, and shows it', async () => {
    const { taken, record } = await sent({ type: 'location', location: place })
    expect([taken.type, taken.location]).toEqual(['location', place])
    expect(record).toMatchObject({ type: 'text', text: 'Duomo', content: { type: 'location', location: place } })
    const unnamed = await sent({ type: 'location', location: { latitude: 0, longitude: 0 } })
    expect(unnamed.record).toMatchObject({ text: '[location]' })
  })

  test('sends contacts, and shows them', async () => {
    const { taken, record } = await sent({ type: 'contacts', contacts: cards })
    expect([taken.type, taken.contacts]).toEqual(['contacts', cards])
    expect(record).toMatchObject({ type: 'text', text: '[contacts]', content: { type: 'contacts', contacts: cards } })
  })

  test('sends a reaction, shows it on its message, and removes it', async () => {
    const { from: recipient, wamid, messageId, chatId } = await written(number)
    const react = (emoji: string | null) => send({ recipient, type: 'reaction', reaction: { messageId, emoji } })
    const { status, body: answer } = await react('👍🏽')
    expect(status).toBe(200)
    expect((await takenBy(recipient)).body).toMatchObject({
      type: 'reaction',
      reaction: { message_id: wamid, emoji: '👍🏽' },
    })
    expect((await shown(number, chatId, messageId)).reaction).toBe('👍🏽')
    expect(await shown(number, chatId, answer.data.messageId)).toMatchObject({
      direction: 'outbound',
      text: '👍🏽',
      content: { type: 'reaction', reaction: { messageId, emoji: '👍🏽' } },
      quotedWamid: null,
    })
    for (const none of [null, '']) {
      await react('🎉')
      expect((await shown(number, chatId, messageId)).reaction).toBe('🎉')
      const removed = await react(none)
      expect((await takenBy(recipient)).body.reaction).toEqual({ message_id: wamid, emoji: '' })
      expect((await shown(number, chatId, messageId)).reaction).toBeNull()
      expect(await shown(number, chatId, removed.body.data.messageId)).toMatchObject({
        text: '[reaction removed]',
        content: { type: 'reaction', reaction: { messageId, emoji: null } },
      })
    }
  })

  test('takes a reaction back that the provider fails later, and sets none that it refuses', async () => {
    const { from: recipient, messageId, chatId } = await written(number)
    const reaction = { recipient, type: 'reaction', reaction: { messageId, emoji: '👍' } }
    const { body: answer } = await send(reaction)
    const { wamid } = await takenBy(recipient)
    await service.control('POST', '/status', { wamid, status: 'failed', errors: [{ code: 131009, title: 'Gone' }] })
    await eventually(async () => (await shown(number, chatId, answer.data.messageId)).status === 'failed')
    expect((await shown(number, chatId, messageId)).reaction).toBeNull()
    await service.control('PUT', '/behaviour', { refuseWithCode: 131000 })
    expect((await send(reaction)).status).toBe(500)
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect((await shown(number, chatId, messageId)).reaction).toBeNull()
  })

  const named = [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }]
  test.each<[string, object]>([
    ['text', { type: 'text', text: 'Yes' }],
    ['image', { type: 'image', media: { link } }],
    ['video', { type: 'video', media: { link } }],
    ['audio', { type: 'audio', media: { link } }],
    ['document', { type: 'document', media: { link } }],
    ['sticker', { type: 'sticker', media: { link } }],
    ['template', { type: 'template', template: { name: 'news', components: named } }],
    ['interactive', { type: 'interactive', interactive: buttons('Yes') }],
    ['location', { type: 'location', location: place }],
    ['contacts', { type: 'contacts', contacts: cards }],
  ])('answers a message with %s', async (_, content) => {
    const { from: recipient, wamid, messageId, chatId } = await written(number)
    const { status, body: answer } = await send({ recipient, ...content, quoted: messageId })
    expect([status, answer.error]).toEqual([200, undefined])
    expect((await takenBy(recipient)).body.context).toEqual({ message_id: wamid })
    const record = await shown(number, chatId, answer.data.messageId)
    expect(record).toMatchObject({ quotedWamid: wamid, quotedMessageId: messageId })
  })

  test('quotes and reacts in a reply of a conversation as well', async () => {
    const { from, wamid, messageId, chatId } = await written(number)
    const reply = (content: object) => number.api('POST', `/whatsapp/conversations/${chatId}/messages`, content)
    expect((await reply({ type: 'location', location: place, quoted: messageId })).status).toBe(200)
    expect((await takenBy(from)).body).toMatchObject({ location: place, context: { message_id: wamid } })
    expect((await reply({ type: 'reaction', reaction: { messageId, emoji: '🙏' } })).status).toBe(200)
    expect((await shown(number, chatId, messageId)).reaction).toBe('🙏')
  })

  test('answers 404 for a message that is missing, of another conversation or of another company', async () => {
    const { from: recipient } = await written(number)
    const elsewhere = await written(number)
    const other = await connected(provider)
    const foreign = await written(other)
    for (const messageId of [elsewhere.messageId, foreign.messageId, 987654321012]) {
      for (const content of [
        { type: 'text', text: 'x', quoted: messageId },
        { type: 'reaction', reaction: { messageId, emoji: '👍' } },
      ]) {
        const answer = await send({ recipient, ...content })
        expect([answer.status, answer.body]).toEqual([404, { message: 'Message not found' }])
      }
    }
  })

  test.each<[string, object, object, object]>([
    [
      'a button',
      buttons('Yes', 'No'),
      { type: 'button_reply', button_reply: { id: 'no', title: 'No' } },
      { id: 'no', title: 'No', payload: null, responseJson: null },
    ],
    [
      'a row',
      list,
      { type: 'list_reply', list_reply: { id: 'mon', title: 'Monday', description: '' } },
      { id: 'mon', title: 'Monday', payload: null, responseJson: null },
    ],
    [
      'the answers of a flow',
      INTERACTIVE.at(-1)![1],
      { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: '{"day":"fri"}' } },
      { id: null, title: 'Sent', payload: null, responseJson: '{"day":"fri"}' },
    ],
  ])('the choice of %s comes back, tied to the message that asked', async (_, interactive, answered, reply) => {
    const asked = await sent({ type: 'interactive', interactive })
    if (provider === 'gupshup') await service.control('POST', '/status', { wamid: asked.wamid, status: 'enqueued' })
    const context = { id: asked.wamid, from: '390000000' }
    const choice = { type: 'interactive', text: undefined, interactive: answered, context }
    const chosen = await written(number, asked.recipient, choice)
    await eventually(async () => (await shown(number, asked.chatId, chosen.messageId)).quotedMessageId !== null)
    expect(await shown(number, asked.chatId, chosen.messageId)).toMatchObject({
      content: { type: 'reply', reply },
      quotedWamid: asked.wamid,
      quotedMessageId: asked.messageId,
    })
  })

  test('a shared contact and a location are shown', async () => {
    const { from, chatId } = await written(number)
    const request = [{ origin: 'contact_request', phones: [{ phone: '+39 333\u0000', wa_id: '39333' }] }]
    const contact = await written(number, from, { type: 'contacts', text: undefined, contacts: request })
    const location = await written(number, from, { type: 'location', text: undefined, location: place })
    expect((await shown(number, chatId, contact.messageId)).content).toEqual({
      type: 'contacts',
      contacts: [{ origin: 'contact_request', phones: [{ phone: '+39 333\uFFFD', wa_id: '39333' }] }],
    })
    expect((await shown(number, chatId, location.messageId)).content).toEqual({ type: 'location', location: place })
  })

  test('sends later, in a conversation that is open by then', async () => {
    const { from, chatId } = await written(number)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const { status, body: answer } = await number.api('POST', `/whatsapp/conversations/${chatId}/messages`, {
      type: 'interactive',
      interactive: buttons('Yes'),
      sendAt,
    })
    expect([status, answer.data]).toMatchObject([202, { status: 'scheduled', chatId, type: 'interactive', sendAt }])
    await service.db`
      update jobs set due_at = now() where kind = 'message.send' and company_id = ${number.companyId}
    `
    const path = `/whatsapp/scheduled-messages/${answer.data.id}`
    const { messageId } = await eventually(async () => {
      const { data } = (await number.api('GET', path)).body
      return data.status === 'sent' && data
    })
    await eventually(async () => (await shown(number, chatId, messageId)).status === 'sent')
    expect((await takenBy(from)).body).toMatchObject({ type: 'interactive', interactive: buttons('Yes') })
  })

  test('needs an open window', async () => {
    for (const content of [
      { type: 'location', location: place },
      { type: 'interactive', interactive: buttons('Yes') },
    ]) {
      const { status, body: answer } = await send({ recipient: uniquePhone(), ...content })
      expect([status, answer.error.code]).toEqual([422, 'session_window_closed'])
    }
  })

  test('says which transport does not offer a type', async () => {
    const { from: recipient } = await written(number)
    await service.control('PUT', '/behaviour', { refuseWithCode: 131051 })
    const { status, body: answer } = await send({ recipient, type: 'location', location: place })
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect([status, answer.error.details]).toEqual([
      422,
      { fields: [{ path: 'type', message: `location is not supported by the transport ${provider}` }] },
    ])
  })

  test('marks messages as read, and shows that an answer is written', async () => {
    const { from, chatId } = await written(number)
    const { wamid } = await written(number, from)
    const call = (path: string) => number.api('POST', `/whatsapp/conversations/${chatId}/${path}`)
    const receipts = async () => (await service.control('GET', '/receipts')).body
    const unread = async () => (await number.api('GET', `/whatsapp/conversations/${chatId}`)).body.data.unreadMessages
    expect(await unread()).toBe(2)
    const typing = await call('typing')
    expect([typing.status, typing.body]).toEqual([200, { success: true }])
    const { phoneNumberId } = number
    expect((await receipts())[0]).toMatchObject({ wamid, phoneNumberId, isTyping: true })
    const read = await call('read')
    expect([read.status, read.body]).toEqual([200, { success: true }])
    expect((await receipts())[0]).toMatchObject({ wamid, phoneNumberId, isTyping: false })
    expect(await unread()).toBe(0)
  })
})

describe('typing and read', () => {
  let number: Connected
  beforeAll(async () => {
    number = await connected('meta')
  })
  const call = (chatId: number, path: string, headers: Record<string, string> = {}) =>
    number.api('POST', `/whatsapp/conversations/${chatId}/${path}`, undefined, headers)

  test('before the customer wrote: nothing to show, and nothing to read', async () => {
    const { body: answer } = await number.api('POST', SEND, {
      recipient: uniquePhone(),
      type: 'template',
      template: { name: 'parcel_left' },
    })
    const { chatId } = answer.data
    const typing = await call(chatId, 'typing')
    expect([typing.status, typing.body.error.code]).toEqual([422, 'session_window_closed'])
    expect((await call(chatId, 'read')).status).toBe(200)
  })

  test('answer 404 for a conversation of another company', async () => {
    const { chatId } = await written(await connected('meta'))
    for (const path of ['read', 'typing']) {
      const { status, body: answer } = await call(chatId, path)
      expect([status, answer]).toEqual([404, { message: 'Conversation not found' }])
    }
  })

  test.each([
    [131051, 422, { fields: [{ path: 'read', message: 'read is not supported by the transport meta' }] }],
    [131009, 400, undefined],
    [80007, 429, undefined],
    [131016, 503, undefined],
    [131000, 500, undefined],
  ])('pass the refusal %i on as %i, and leave the messages unread', async (code, expected, details) => {
    const { chatId } = await written(number)
    await service.control('PUT', '/behaviour', { refuseWithCode: code })
    const { status, body: answer } = await call(chatId, 'read')
    await service.control('PUT', '/behaviour', { refuseWithCode: null })
    expect([status, answer.error?.details]).toEqual([expected, details])
    expect((await number.api('GET', `/whatsapp/conversations/${chatId}`)).body.data.unreadMessages).toBe(1)
  })

  test('with an Idempotency-Key answer the same again', async () => {
    const { chatId } = await written(number)
    const first = await call(chatId, 'read', { 'idempotency-key': 'read-once' })
    const second = await call(chatId, 'read', { 'idempotency-key': 'read-once' })
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
  })
})

describe('a message that cannot be quoted', () => {
  test('has no id at the provider yet: 422', async () => {
    const number = await connected('gupshup')
    const { from: recipient, chatId } = await written(number)
    const { body: answer } = await number.api('POST', SEND, { recipient, type: 'text', text: 'Hello' })
    const { messageId } = answer.data
    const message = 'names a message that has no id at the provider'
    const quoting = await number.api('POST', SEND, { recipient, type: 'text', text: 'x', quoted: messageId })
    expect([quoting.status, quoting.body.error.details]).toEqual([422, { fields: [{ path: 'quoted', message }] }])
    const reacting = await number.api('POST', `/whatsapp/conversations/${chatId}/messages`, {
      type: 'reaction',
      reaction: { messageId, emoji: '👍' },
    })
    expect(reacting.body.error.details).toEqual({ fields: [{ path: 'reaction.messageId', message }] })
  })
})

test.each(
  PROVIDER_NAMES,
)('through %s, the choice of a customer reaches receivers with the message that asked', async (provider) => {
  const number = await connected(provider)
  const registered = await number.api('POST', '/webhooks/registrations', {
    name: 'choices',
    url: 'https://receiver.example.com/choices',
    events: ['whatsapp.message.received'],
  })
  expect(registered.status).toBe(201)
  const { from: recipient } = await written(number)
  await number.api('POST', SEND, { recipient, type: 'interactive', interactive: buttons('Yes', 'No') })
  const { wamid } = await takenBy(recipient)
  if (provider === 'gupshup') await service.control('POST', '/status', { wamid, status: 'enqueued' })
  const interactive = { type: 'button_reply', button_reply: { id: 'yes', title: 'Yes' } }
  const chosen = { type: 'interactive', text: undefined, interactive, context: { id: wamid } }
  const answer = await written(number, recipient, chosen)
  const [envelope] = await service.db`
    select body from envelopes where company_id = ${number.companyId} and event_id = ${answer.wamid}
  `
  expect(JSON.parse(envelope!.body).message).toMatchObject({
    reply: { id: 'yes', title: 'Yes', payload: null, responseJson: null },
    quotedWamid: wamid,
  })
})
