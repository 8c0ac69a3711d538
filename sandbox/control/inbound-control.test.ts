import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { ACCOUNT, call, NUMBER, SECOND_NUMBER } from '../test/client.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'

let receiver: Receiver
let sandbox: Sandbox
beforeAll(async () => {
  receiver = await startReceiver()
  sandbox = await startSandbox({ webhookUrl: receiver.url, appSecret: 'shh', autoStatus: false })
})
beforeEach(() => {
  receiver.events.length = 0
  receiver.answerWith = 200
})
afterEach(() => call(sandbox, 'POST', '/sandbox/reset'))
afterAll(async () => {
  await sandbox.stop()
  receiver.stop()
})

const text = (from: string, body = 'Hi') => ({ phoneNumberId: NUMBER, from, type: 'text', text: { body } })
const inbound = (body: unknown) => call(sandbox, 'POST', '/sandbox/inbound', body)
const eventValue = (event = 0, entry = 0, change = 0) => receiver.events[event]?.json.entry[entry].changes[change].value

test('a customer writes: the event is shaped as the provider does', async () => {
  const { status, body } = await inbound({ ...text('+39 333 123 4567'), name: 'Ada', context: { id: 'wamid.1' } })
  expect(status).toBe(200)
  expect(body).toEqual({ wamid: expect.stringMatching(/^wamid\./), delivered: true, statusCode: 200 })
  expect(receiver.events[0]?.json).toEqual({
    object: 'whatsapp_business_account',
    entry: [
      {
        id: ACCOUNT,
        time: expect.any(Number),
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '447700900100', phone_number_id: NUMBER },
              contacts: [{ profile: { name: 'Ada' }, wa_id: '393331234567' }],
              messages: [
                {
                  from: '393331234567',
                  id: body.wamid,
                  timestamp: expect.stringMatching(/^\d{10}$/),
                  type: 'text',
                  text: { body: 'Hi' },
                  context: { id: 'wamid.1' },
                },
              ],
            },
          },
        ],
      },
    ],
  })
})

test('signs the raw bytes, which are escaped as the provider does', async () => {
  await inbound(text('393331234567', 'Perché no? 👍 a/b'))
  const { raw, headers } = receiver.events[0]!
  expect(raw.toString()).toContain('Perch\\u00e9 no? \\ud83d\\udc4d a\\/b')
  expect(headers['x-hub-signature-256']).toBe(`sha256=${createHmac('sha256', 'shh').update(raw).digest('hex')}`)
  const rewritten = JSON.stringify(JSON.parse(raw.toString()))
  expect(headers['x-hub-signature-256']).not.toBe(
    `sha256=${createHmac('sha256', 'shh').update(rewritten).digest('hex')}`,
  )
  expect(eventValue().messages[0].text.body).toBe('Perché no? 👍 a/b')
})

test('takes an id and a timestamp of its own', async () => {
  const { body } = await inbound({ ...text('393331234567'), id: 'wamid.MINE', timestamp: 1749416383 })
  expect(body.wamid).toBe('wamid.MINE')
  expect(eventValue().messages[0]).toMatchObject({ id: 'wamid.MINE', timestamp: '1749416383' })
})

test('hides the phone of a customer known by user id only', async () => {
  const { from: _from, ...message } = text('')
  await inbound({ ...message, userId: 'US.123', username: 'ada' })
  expect(eventValue().contacts).toEqual([{ profile: { username: 'ada' }, user_id: 'US.123' }])
  expect(eventValue().messages[0]).not.toHaveProperty('from')
  expect(eventValue().messages[0]).toMatchObject({ from_user_id: 'US.123' })
  await inbound({ ...text('393331234567'), userId: 'US.123' })
  expect(eventValue(1).contacts).toEqual([{ wa_id: '393331234567', user_id: 'US.123' }])
})

test.each([
  ['image', 'image/jpeg', 'ffd8ff'],
  ['video', 'video/mp4', '0000001c66747970'],
  ['audio', 'audio/ogg; codecs=opus', '4f676753'],
  ['document', 'application/pdf', '25504446'],
  ['sticker', 'image/webp', '52494646'],
])('gives a %s without an id a real file', async (type, mimeType, magic) => {
  await inbound({ phoneNumberId: NUMBER, from: '393331234567', type, [type]: { caption: 'x' } })
  const content = eventValue().messages[0][type]
  expect(content).toMatchObject({ id: expect.any(String), mime_type: mimeType, caption: 'x' })
  const { body: media } = await call(sandbox, 'GET', `/v25.0/${content.id}`)
  expect(media).toMatchObject({ mime_type: mimeType, sha256: content.sha256 })
  const file = await fetch(media.url, { headers: { authorization: 'Bearer t' } })
  expect(Buffer.from(await file.arrayBuffer()).toString('hex')).toMatch(new RegExp(`^${magic}`))
})

test('keeps to the MIME type asked for, and to an id that was given', async () => {
  await inbound({ phoneNumberId: NUMBER, from: '39333', type: 'image', image: { mime_type: 'image/png' } })
  expect(eventValue().messages[0].image.mime_type).toBe('image/png')
  await inbound({ phoneNumberId: NUMBER, from: '39333', type: 'image', image: { id: '7' } })
  expect(eventValue(1).messages[0].image).toEqual({ id: '7' })
})

test('puts many messages of several numbers into one body', async () => {
  await call(sandbox, 'POST', '/sandbox/numbers', {
    phoneNumberId: '555',
    displayPhoneNumber: '+44 7700 900555',
    verifiedName: 'Other',
    wabaAccountId: '556',
  })
  const { body } = await call(sandbox, 'POST', '/sandbox/inbound/batch', [
    { ...text('39331'), name: 'Ada' },
    { ...text('39332'), phoneNumberId: SECOND_NUMBER },
    { ...text('39331'), name: 'Ada' },
    { ...text('39333'), phoneNumberId: '555' },
  ])
  expect(body).toMatchObject({ delivered: true, wamids: { length: 4 } })
  expect(receiver.events).toHaveLength(1)
  const [event] = receiver.events
  expect(event?.json.entry.map((entry: { id: string }) => entry.id)).toEqual([ACCOUNT, '556'])
  expect(eventValue(0, 0, 0).messages.map((message: { id: string }) => message.id)).toEqual([
    body.wamids[0],
    body.wamids[2],
  ])
  expect(eventValue(0, 0, 0).contacts).toEqual([{ profile: { name: 'Ada' }, wa_id: '39331' }])
  expect(eventValue(0, 0, 1).metadata.phone_number_id).toBe(SECOND_NUMBER)
  expect(eventValue(0, 1, 0).messages[0].id).toBe(body.wamids[3])
})

test('makes up messages, customers and duplicates', async () => {
  const { body } = await call(sandbox, 'POST', '/sandbox/inbound/batch', { count: 10, conversations: 3, duplicates: 2 })
  expect(body.wamids).toHaveLength(12)
  expect(new Set(body.wamids).size).toBe(10)
  expect(new Set(eventValue().messages.map((message: { from: string }) => message.from)).size).toBe(3)
  expect(eventValue().contacts).toHaveLength(3)
  expect(receiver.events).toHaveLength(1)
})

test('an echo names the business as its writer', async () => {
  const { body } = await call(sandbox, 'POST', '/sandbox/echo', {
    phoneNumberId: NUMBER,
    to: '393331234567',
    type: 'text',
    text: { body: 'Ciao' },
  })
  expect(receiver.events[0]?.json.entry[0].changes[0].field).toBe('smb_message_echoes')
  expect(eventValue().message_echoes).toMatchObject([
    { from: '447700900100', to: '393331234567', id: body.wamid, type: 'text', text: { body: 'Ciao' } },
  ])
})

test('posts anything verbatim', async () => {
  const garbage = '{"object": broken, è'
  const { body } = await call(sandbox, 'POST', '/sandbox/raw', {
    body: garbage,
    headers: { 'X-Hub-Signature-256': 'sha256=wrong' },
  })
  expect(body).toEqual({ delivered: true, statusCode: 200 })
  expect(receiver.events[0]?.raw.toString()).toBe(garbage)
  expect(receiver.events[0]?.headers['x-hub-signature-256']).toBe('sha256=wrong')
  await call(sandbox, 'POST', '/sandbox/raw', { body: { object: 'x' } })
  expect(receiver.events[1]?.raw.toString()).toBe('{"object":"x"}')
  expect(receiver.events[1]?.headers['x-hub-signature-256']).toMatch(/^sha256=[0-9a-f]{64}$/)
})

test('says when the service refuses, or cannot be reached, or is not known', async () => {
  receiver.answerWith = 503
  expect((await inbound(text('39333'))).body).toMatchObject({ delivered: false, statusCode: 503 })
  await call(sandbox, 'PUT', '/sandbox/webhook', { url: 'http://127.0.0.1:1/' })
  expect((await inbound(text('39333'))).body).toMatchObject({ delivered: false, statusCode: null })
  await call(sandbox, 'PUT', '/sandbox/webhook', { url: null })
  expect((await inbound(text('39333'))).body).toMatchObject({ delivered: false, statusCode: null })
})

test('does not sign without a secret', async () => {
  await call(sandbox, 'PUT', '/sandbox/webhook', { url: receiver.url })
  await inbound(text('39333'))
  expect(receiver.events[0]?.headers).not.toHaveProperty('x-hub-signature-256')
})

test.each([
  ['/sandbox/inbound', { from: '1', type: 'text' }, 'phoneNumberId'],
  ['/sandbox/inbound', { ...text('1'), phoneNumberId: '404' }, 'phoneNumberId'],
  ['/sandbox/inbound', { phoneNumberId: NUMBER, type: 'text' }, 'from'],
  ['/sandbox/inbound', { ...text('1'), type: 7 }, 'type'],
  ['/sandbox/inbound', 'no json', 'body'],
  ['/sandbox/inbound', undefined, 'body'],
  ['/sandbox/inbound/batch', { count: 0 }, 'count'],
  ['/sandbox/inbound/batch', { count: 5, duplicates: 6 }, 'duplicates'],
  ['/sandbox/inbound/batch', [], 'body'],
  ['/sandbox/inbound/batch', [text('1'), { ...text('1'), type: '' }], '1.type'],
  ['/sandbox/echo', { phoneNumberId: NUMBER, type: 'text' }, 'to'],
  ['/sandbox/raw', {}, 'body'],
  ['/sandbox/webhook', { url: 'nonsense' }, 'url'],
])('400 from %s for %j naming %s', async (path, body, field) => {
  const answer = await call(sandbox, path === '/sandbox/webhook' ? 'PUT' : 'POST', path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.error).toEqual({ field, message: expect.stringContaining(field) })
  expect(receiver.events).toEqual([])
})
