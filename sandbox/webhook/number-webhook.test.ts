import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { call, NUMBER, SECOND_NUMBER } from '../test/client.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'

let [own, common]: Receiver[] = []
let sandbox: Sandbox
beforeAll(async () => {
  own = await startReceiver()
  common = await startReceiver()
  sandbox = await startSandbox({ webhookUrl: common.url, statusDelayMs: 20 })
})
afterAll(async () => {
  await sandbox.stop()
  own?.stop()
  common?.stop()
})

const statusOf = ({ status }: { status: string }) => status

const write = (phoneNumberId: string) =>
  call(sandbox, 'POST', '/sandbox/inbound', { phoneNumberId, from: '1555', type: 'text', text: { body: 'Hi' } })

const post = (path: string, credential: Record<string, string>, type: string, body: string) =>
  fetch(`${sandbox.url}${path}`, { method: 'POST', headers: { ...credential, 'content-type': type }, body })

test('a webhook that is set through 360dialog gets the events of its number alone, with its headers', async () => {
  const body = JSON.stringify({ url: own?.url, headers: { 'X-Webhook-Secret': 'of the number' } })
  const answer = await post('/dialog360/v1/configs/webhook', { 'D360-API-KEY': NUMBER }, 'application/json', body)
  expect(answer.status).toBe(200)
  await write(NUMBER)
  await write(SECOND_NUMBER)
  expect(own?.events.map(({ headers }) => headers['x-webhook-secret'])).toEqual(['of the number'])
  expect(common?.events).toHaveLength(1)
})

test('statuses of its messages come there, too', async () => {
  const before = own?.events.length ?? 0
  // Both may come in one body.
  const statuses = () =>
    own?.events.slice(before).flatMap(({ json }) => json.entry[0].changes[0].value.statuses.map(statusOf)) ?? []
  const message = JSON.stringify({ messaging_product: 'whatsapp', to: '15551234', type: 'text', text: { body: 'Hi' } })
  await post('/dialog360/messages', { 'D360-API-KEY': NUMBER }, 'application/json', message)
  await expect.poll(statuses).toEqual(['sent', 'delivered'])
})

test('a subscription of version 3 sets it through Gupshup', async () => {
  const form = new URLSearchParams({
    url: own?.url ?? '',
    version: '3',
    meta: '{"headers":{"X-Webhook-Secret":"new"}}',
  })
  const answer = await post(
    '/gupshup/partner/app/any/subscription',
    { authorization: 'sk_token' },
    'application/x-www-form-urlencoded',
    form.toString(),
  )
  expect(await answer.json()).toMatchObject({ status: 'success' })
  await write(NUMBER)
  expect(own?.events.at(-1)?.headers['x-webhook-secret']).toBe('new')
})

test.each([
  '{}',
  '{',
  '{"url":"ftp://example.com"}',
  '{"url":"http://example.com","headers":{"a":1}}',
])('a webhook without a usable address is refused: %s', async (body) => {
  const answer = await post('/dialog360/v1/configs/webhook', { 'D360-API-KEY': NUMBER }, 'application/json', body)
  expect(answer.status).toBe(400)
})
