import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { ACCOUNT, call, NUMBER, send, templateTo, textTo } from '../test/client.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'

let receiver: Receiver
let sandbox: Sandbox
beforeAll(async () => {
  receiver = await startReceiver()
  sandbox = await startSandbox({ webhookUrl: receiver.url, autoStatus: false })
})
beforeEach(() => {
  receiver.events.length = 0
})
afterEach(() => call(sandbox, 'POST', '/sandbox/reset'))
afterAll(async () => {
  await sandbox.stop()
  receiver.stop()
})

const lastValue = () => receiver.events.at(-1)?.json.entry[0].changes[0].value
const sendStatus = (body: unknown) => call(sandbox, 'POST', '/sandbox/status', body)
const TEMPLATES = `/v25.0/${ACCOUNT}/message_templates?fields=id,name,status,rejected_reason`
const BODY = [{ type: 'BODY', text: 'Hello {{1}}' }]

test('a status goes out with the callback data of its message, in any order and as often as asked', async () => {
  const sent = await send(sandbox, textTo('5511987654321', { biz_opaque_callback_data: 'msg 42' }))
  const wamid = sent.body.messages[0].id
  for (const status of ['read', 'delivered', 'delivered']) await sendStatus({ wamid, status })
  expect(receiver.events.map(({ json }) => json.entry[0].changes[0].value.statuses[0].status)).toEqual([
    'read',
    'delivered',
    'delivered',
  ])
  expect(receiver.events.at(-1)?.json.entry[0].id).toBe(ACCOUNT)
  expect(lastValue()).toEqual({
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '447700900100', phone_number_id: NUMBER },
    statuses: [
      {
        id: wamid,
        status: 'delivered',
        timestamp: expect.stringMatching(/^\d{10}$/),
        recipient_id: '551187654321',
        biz_opaque_callback_data: 'msg 42',
        pricing: { billable: false, pricing_model: 'PMP', type: 'free_customer_service', category: 'service' },
      },
    ],
  })
})

test('the answer to a send and its statuses name the customer as they were set to', async () => {
  const customer = { phoneNumberId: NUMBER, phone: '393331234567', waId: '393337654321', userId: 'IT.42' }
  await call(sandbox, 'POST', '/sandbox/customers', customer)
  const sent = await send(sandbox, textTo('393331234567'))
  expect(sent.body.contacts).toEqual([{ input: '393331234567', wa_id: '393337654321', user_id: 'IT.42' }])
  await sendStatus({ wamid: sent.body.messages[0].id, status: 'delivered' })
  expect(lastValue().statuses[0]).toMatchObject({ recipient_id: '393337654321', recipient_user_id: 'IT.42' })
})

test('a failed status carries errors: those given, or some', async () => {
  const wamid = (await send(sandbox, templateTo('39333', 'shipping_notice'))).body.messages[0].id
  const errors = [{ code: 131047, title: 'Re-engagement message' }]
  await sendStatus({ wamid, status: 'failed', errors, timestamp: 1750030073 })
  expect(lastValue().statuses[0]).toMatchObject({ status: 'failed', errors, timestamp: '1750030073' })
  await sendStatus({ wamid, status: 'failed' })
  expect(lastValue().statuses[0].errors).toMatchObject([{ code: 131000 }])
  await sendStatus({ wamid, status: 'delivered' })
  expect(lastValue().statuses[0].pricing).toMatchObject({ billable: true, category: 'utility' })
})

test('a status about a message that is none of ours needs the number', async () => {
  const refused = await sendStatus({ wamid: 'wamid.STRANGE', status: 'sent' })
  expect([refused.status, refused.body.error.field]).toEqual([400, 'wamid'])
  await sendStatus({ wamid: 'wamid.STRANGE', status: 'sent', phoneNumberId: NUMBER })
  expect(lastValue().statuses).toMatchObject([{ id: 'wamid.STRANGE', status: 'sent' }])
})

test('the status of a customer without a phone names the user id', async () => {
  const { to: _to, ...message } = textTo('')
  const wamid = (await send(sandbox, { ...message, recipient: 'US.1' })).body.messages[0].id
  await sendStatus({ wamid, status: 'sent' })
  expect(lastValue().statuses[0]).toMatchObject({ recipient_user_id: 'US.1' })
  expect(lastValue().statuses[0]).not.toHaveProperty('recipient_id')
})

test('a template made here is listed and can be sent', async () => {
  const asked = { name: 'new_one', language: 'en_US', category: 'UTILITY', components: BODY }
  const { status, body } = await call(sandbox, 'POST', '/sandbox/templates', asked)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    ...asked,
    id: expect.stringMatching(/^\d+$/),
    status: 'APPROVED',
    wabaAccountId: ACCOUNT,
  })
  expect(Number.isSafeInteger(Number(body.id))).toBe(true)
  expect((await call(sandbox, 'GET', `${TEMPLATES}&name=new_one`)).body.data).toMatchObject([{ id: body.id }])
  expect((await call(sandbox, 'GET', '/sandbox/templates')).body).toHaveLength(10)
  const components = [{ type: 'body', parameters: [{ type: 'text', text: 'Ada' }] }]
  expect((await send(sandbox, templateTo('39333', 'new_one', components))).status).toBe(200)
  expect(receiver.events).toEqual([])
})

test.each([
  ['REJECTED', 'REJECTED', { reason: 'INVALID_FORMAT', rejection_info: expect.any(Object) }],
  ['PAUSED', 'PAUSED', { reason: 'NONE', other_info: expect.any(Object) }],
  ['DISABLED', 'DISABLED', { reason: 'NONE', disable_info: { disable_date: expect.any(Number) } }],
  ['REINSTATED', 'APPROVED', { reason: 'NONE' }],
  ['FLAGGED', 'PAUSED', { reason: 'NONE' }],
])('a template event %s leaves the template %s', async (event, status, details) => {
  const id = '300000000000009'
  const { body } = await call(sandbox, 'POST', `/sandbox/templates/${id}/status`, { status: event })
  expect(body).toMatchObject({ id, name: 'feedback_invite', status, delivered: true, statusCode: 200 })
  expect(receiver.events[0]?.json.entry[0].id).toBe(ACCOUNT)
  expect(receiver.events[0]?.json.entry[0].changes[0].field).toBe('message_template_status_update')
  expect(lastValue()).toEqual({
    event,
    message_template_id: 300000000000009,
    message_template_name: 'feedback_invite',
    message_template_language: 'en_US',
    message_template_category: 'MARKETING',
    ...details,
  })
  expect((await call(sandbox, 'GET', `${TEMPLATES}&name=feedback_invite`)).body.data).toMatchObject([{ status }])
})

test('a number registered here can send, from an account of its own', async () => {
  const number = {
    phoneNumberId: '777',
    displayPhoneNumber: '+44 7700 900777',
    verifiedName: 'New',
    wabaAccountId: '778',
  }
  expect((await send(sandbox, textTo('39333'), '777')).status).toBe(400)
  expect((await call(sandbox, 'POST', '/sandbox/numbers', number)).body).toEqual(number)
  expect((await send(sandbox, textTo('39333'), '777')).status).toBe(200)
  expect((await call(sandbox, 'GET', '/sandbox/numbers')).body).toContainEqual(number)
  expect((await call(sandbox, 'GET', '/v25.0/778/phone_numbers')).body.data).toMatchObject([{ id: '777' }])
  expect((await call(sandbox, 'GET', '/v25.0/778/message_templates')).body).toEqual({ data: [] })
})

test('behaviour keeps what is not named, and null and 0 put back', async () => {
  const calm = (await call(sandbox, 'GET', '/sandbox/behaviour')).body
  expect(calm).toMatchObject({ latencyMs: 0, errorRate: 0, refuseWithCode: null, autoStatus: false, hang: false })
  await call(sandbox, 'PUT', '/sandbox/behaviour', { latencyMs: 5, refuseWithCode: 4 })
  await call(sandbox, 'PUT', '/sandbox/behaviour', { errorRate: 0.5, autoStatus: true })
  const changed = (await call(sandbox, 'GET', '/sandbox/behaviour')).body
  expect(changed).toEqual({ ...calm, latencyMs: 5, refuseWithCode: 4, errorRate: 0.5, autoStatus: true })
  const reset = { latencyMs: null, refuseWithCode: 0, errorRate: 0, autoStatus: null }
  expect((await call(sandbox, 'PUT', '/sandbox/behaviour', reset)).body).toEqual(calm)
})

test('reset brings back the start', async () => {
  await send(sandbox, textTo('39333'))
  await call(sandbox, 'PUT', '/sandbox/behaviour', { refuseWithCode: 4 })
  await call(sandbox, 'POST', '/sandbox/templates/300000000000001/status', { status: 'DISABLED' })
  expect((await call(sandbox, 'POST', '/sandbox/reset')).body).toEqual({ success: true })
  expect((await call(sandbox, 'GET', '/sandbox/messages')).body).toEqual([])
  expect((await send(sandbox, textTo('39333'))).status).toBe(200)
  expect((await call(sandbox, 'GET', '/sandbox/templates')).body[0]).toMatchObject({ status: 'APPROVED' })
})

test.each([
  ['POST', '/sandbox/status', { wamid: 'wamid.1' }, 'status'],
  ['POST', '/sandbox/templates', { name: 'Bad Name', language: 'en', category: 'UTILITY', components: BODY }, 'name'],
  ['POST', '/sandbox/templates', { name: 'x', language: 'en', category: 'OTHER', components: BODY }, 'category'],
  [
    'POST',
    '/sandbox/templates',
    { name: 'x', language: 'en', category: 'UTILITY', components: [{}] },
    'components.0.type',
  ],
  [
    'POST',
    '/sandbox/templates',
    { name: 'order_update', language: 'it', category: 'UTILITY', components: BODY },
    'name',
  ],
  ['POST', '/sandbox/templates/300000000000001/status', { status: 'NONSENSE' }, 'status'],
  ['POST', '/sandbox/numbers', { phoneNumberId: 'x', displayPhoneNumber: '+1', verifiedName: 'x' }, 'phoneNumberId'],
  ['PUT', '/sandbox/behaviour', { errorRate: 2 }, 'errorRate'],
  ['PUT', '/sandbox/behaviour', { latency: 2 }, 'latency'],
  ['GET', '/sandbox/messages?limit=x', undefined, 'limit'],
] as const)('400 from %s %s for %j naming %s', async (method, path, body, field) => {
  const answer = await call(sandbox, method, path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.error).toEqual({ field, message: expect.stringContaining(field) })
})

test('404 for the status of an unknown template', async () => {
  expect((await call(sandbox, 'POST', '/sandbox/templates/1/status', { status: 'PAUSED' })).status).toBe(404)
})
