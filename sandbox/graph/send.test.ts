import { request } from 'undici'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { call, NUMBER, send, templateTo, texts, textTo } from '../test/client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ messageLimit: 5, random: () => 0.5 })
})
afterEach(() => call(sandbox, 'POST', '/sandbox/reset'))
afterAll(() => sandbox.stop())

const listMessages = async () => (await call(sandbox, 'GET', '/sandbox/messages')).body

test('accepts a text and keeps it as it came', async () => {
  const message = textTo('393331234567', { biz_opaque_callback_data: '42' })
  const { status, body } = await send(sandbox, message)
  expect(status).toBe(200)
  expect(body).toEqual({
    messaging_product: 'whatsapp',
    contacts: [{ input: '393331234567', wa_id: '393331234567' }],
    messages: [{ id: expect.stringMatching(/^wamid\.[A-Za-z0-9]+$/) }],
  })
  expect(await listMessages()).toEqual([
    { wamid: body.messages[0].id, phoneNumberId: NUMBER, to: '393331234567', body: message, at: expect.any(String) },
  ])
})

test('serves every Graph version, and no two messages share an id', async () => {
  const answers = await Promise.all(
    ['v22.0', 'v25.0', 'v30.1'].map((version) =>
      call(sandbox, 'POST', `/${version}/${NUMBER}/messages`, textTo('393331234567')),
    ),
  )
  expect(new Set(answers.map(({ body }) => body.messages[0].id)).size).toBe(3)
})

test('says message_status for templates only', async () => {
  const body = [{ type: 'body', parameters: texts('Ada', 'A-1') }]
  const answer = await send(sandbox, templateTo('393331234567', 'order_update', body, 'it'))
  expect(answer.body.messages[0]).toMatchObject({ message_status: 'accepted' })
})

test.each([
  ['5511987654321', '551187654321'],
  ['+5215512345678', '525512345678'],
  ['5491123456789', '541123456789'],
])('knows %s as %s', async (to, waId) => {
  expect((await send(sandbox, textTo(to))).body.contacts).toEqual([{ input: to, wa_id: waId }])
})

test('sends by user id to a customer with a hidden phone', async () => {
  const { to: _to, ...message } = textTo('')
  const answer = await send(sandbox, { ...message, recipient: 'US.13491208655302741918' })
  expect(answer.body.contacts).toEqual([{ input: 'US.13491208655302741918', user_id: 'US.13491208655302741918' }])
})

test('answers a read receipt, which is no message', async () => {
  const answer = await send(sandbox, { messaging_product: 'whatsapp', status: 'read', message_id: 'wamid.x' })
  expect(answer.body).toEqual({ success: true })
  expect(await listMessages()).toEqual([])
})

test('keeps the newest messages only', async () => {
  for (let n = 1; n <= 8; n += 1) await send(sandbox, textTo(`39333123450${n}`))
  const kept = await listMessages()
  expect(kept.map((message: { to: string }) => message.to.at(-1))).toEqual(['8', '7', '6', '5', '4'])
  expect((await call(sandbox, 'GET', '/sandbox/messages?limit=2')).body).toEqual(kept.slice(0, 2))
})

test.each([[null], [''], ['   ']])('401 code 190 with the bearer %j', async (bearer) => {
  const { status, body } = await call(sandbox, 'POST', `/v25.0/${NUMBER}/messages`, textTo('393331234567'), bearer)
  expect(status).toBe(401)
  expect(body.error).toMatchObject({ type: 'OAuthException', code: 190, fbtrace_id: expect.any(String) })
})

test('400 code 100 for a number that is not registered', async () => {
  const { status, body } = await send(sandbox, textTo('393331234567'), '999')
  expect(status).toBe(400)
  expect(body.error).toMatchObject({ type: 'GraphMethodException', code: 100, error_subcode: 33 })
})

test.each([
  ['no product', { to: '39333', type: 'text', text: { body: 'x' } }],
  ['text without body', textTo('39333', { text: {} })],
  ['text over 4096', textTo('39333', { text: { body: 'x'.repeat(4097) } })],
  ['no recipient', { messaging_product: 'whatsapp', type: 'text', text: { body: 'x' } }],
  ['id and link', { messaging_product: 'whatsapp', to: '39333', type: 'image', image: { id: '1', link: 'https://x' } }],
  [
    'a caption on audio',
    { messaging_product: 'whatsapp', to: '39333', type: 'audio', audio: { id: '1', caption: 'x' } },
  ],
  ['upper-case component', templateTo('39333', 'order_update', [{ type: 'BODY', parameters: texts('a', 'b') }])],
  ['empty parameters', templateTo('39333', 'order_update', [{ type: 'body', parameters: [] }])],
  ['an unknown member', textTo('39333', { surprise: true })],
  ['no JSON', '{"messaging_product":'],
])('400 (#100) for %s', async (_name, message) => {
  const { status, body } = await send(sandbox, message)
  expect(status).toBe(400)
  expect(body.error).toMatchObject({
    message: '(#100) Invalid parameter',
    type: 'OAuthException',
    code: 100,
    error_data: { messaging_product: 'whatsapp', details: expect.any(String) },
  })
  expect(await listMessages()).toEqual([])
})

test.each([
  ['00131026', 400, 131026],
  ['00131047', 400, 131047],
  ['00130429', 429, 130429],
  ['00000190', 401, 190],
  ['00000500', 500, 131000],
])('refuses a recipient ending in %s with %d and code %d', async (ending, status, code) => {
  const answer = await send(sandbox, textTo(`+39333${ending}`))
  expect(answer.status).toBe(status)
  expect(answer.body.error).toMatchObject({ code, message: expect.stringContaining(`(#${code})`) })
  expect(await listMessages()).toEqual([])
})

test('accepts for a recipient ending in 00000000, and never answers', async () => {
  await expect(impatientSend('3933300000000')).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  expect(await listMessages()).toMatchObject([{ to: '3933300000000' }])
})

const impatientSend = (to: string) =>
  request(`${sandbox.url}/v25.0/${NUMBER}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer token' },
    body: JSON.stringify(textTo(to)),
    headersTimeout: 1_200,
  })

test('behaviour: refuses every send with a code until that is switched off', async () => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { refuseWithCode: 131056 })
  const refused = await send(sandbox, textTo('393331234567'))
  expect([refused.status, refused.body.error.code]).toEqual([429, 131056])
  await call(sandbox, 'PUT', '/sandbox/behaviour', { refuseWithCode: null })
  expect((await send(sandbox, textTo('393331234567'))).status).toBe(200)
})

test('behaviour: fails the share of sends asked for with code 2', async () => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { errorRate: 0.6 })
  const failed = await send(sandbox, textTo('393331234567'))
  expect([failed.status, failed.body.error.code]).toEqual([500, 2])
  await call(sandbox, 'PUT', '/sandbox/behaviour', { errorRate: 0.4 })
  expect((await send(sandbox, textTo('393331234567'))).status).toBe(200)
})

test('behaviour: answers HTML, and accepts nothing', async () => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { htmlErrors: true })
  const answer = await send(sandbox, textTo('393331234567'))
  expect([answer.status, answer.text]).toEqual([502, expect.stringContaining('<html>')])
  expect(await listMessages()).toEqual([])
})

test('behaviour: accepts, then resets, breaks off or never answers', async () => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { resetBeforeAnswer: true })
  await expect(send(sandbox, textTo('3933311111111'))).rejects.toThrow()
  await call(sandbox, 'PUT', '/sandbox/behaviour', { resetBeforeAnswer: false, truncate: true })
  await expect(send(sandbox, textTo('3933311111112'))).rejects.toThrow()
  await call(sandbox, 'PUT', '/sandbox/behaviour', { truncate: false, hang: true })
  await expect(impatientSend('3933311111113')).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  const kept = await listMessages()
  expect(kept.map((message: { to: string }) => message.to)).toEqual(['3933311111113', '3933311111112', '3933311111111'])
})

test('behaviour: latency delays its own answer only', async () => {
  await call(sandbox, 'PUT', '/sandbox/behaviour', { latencyMs: 1_000 })
  const order: string[] = []
  const slow = send(sandbox, textTo('393331234567')).then(({ status }) => order.push(`send ${status}`))
  await call(sandbox, 'GET', '/sandbox/messages').then(() => order.push('control'))
  await slow
  expect(order).toEqual(['control', 'send 200'])
})
