import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { SEND } from '../providers/transports-world.ts'
import { uniquePhone } from '../service.ts'
import { buttons, type Connected, startSending } from './sending-world.ts'

const { service, connected, written, takenBy } = await startSending()

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
