import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { startSandbox } from '../sandbox/sandbox.ts'
import { ADMIN_TOKEN } from './api.ts'
import { createTestDatabase } from './database.ts'
import { dataFolder, startParley } from './parley-process.ts'
import { eventually } from './service.ts'

test('a process that is killed while the provider is asked: the message stays, becomes unknown, and is never sent again', async () => {
  const { db, url } = await createTestDatabase()
  const sandbox = await startSandbox()
  afterAll(() => sandbox.stop())
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PROVIDER_TIMEOUT_MS: '30000',
  }
  const first = await startParley(env)
  const call = async (address: string, path: string, body: object, headers: object) => {
    const response = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }
  const operator = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const acme = { name: 'Acme', rateLimitPerMinute: 1_000_000 }
  const company = await call(first.address, '/admin/v1/companies', acme, operator)
  const keys = `/admin/v1/companies/${company.body.id}/api-keys`
  const key = await call(first.address, keys, { name: 'Key', permissions: ['WhatsApp'] }, operator)
  await call(
    first.address,
    `/admin/v1/companies/${company.body.id}/senders`,
    {
      provider: 'meta',
      phoneNumber: '+44 7700 900100',
      phoneName: 'Acme',
      phoneNumberId: '100000000000001',
      wabaAccountId: '200000000000001',
      accessToken: 'token',
      apiBaseUrl: sandbox.url,
    },
    operator,
  )
  const request = { recipient: '391111100000000', type: 'template', template: { name: 'shipping_notice' } }
  const headers = { authorization: `Bearer ${key.body.token}`, 'idempotency-key': 'order-1' }
  const send = (address: string) => call(address, '/public/v1/templates/whatsapp/send', request, headers)
  const received = async () => {
    const response = await fetch(`${sandbox.url}/sandbox/messages`)
    return (await response.json()) as { to: string }[]
  }

  const lost = send(first.address).catch(() => 'no answer')
  await eventually(async () => (await received()).length > 0)
  await first.signal('SIGKILL')
  expect(await lost).toBe('no answer')

  const [lease] = await db`select lease_until <= now() + interval '15 seconds' as is_short from idempotency_keys`
  expect(lease).toEqual({ isShort: true })
  // The lease must not end before the next process asks.
  await db`update idempotency_keys set lease_until = now() + interval '1 hour'`
  const second = await startParley(env)
  const tooEarly = await send(second.address)
  expect([tooEarly.status, tooEarly.body.error.code]).toEqual([409, 'idempotency_key_in_use'])
  await db`update idempotency_keys set lease_until = now()`
  const answer = await eventually(async () => {
    const reply = await send(second.address)
    return reply.status === 409 ? undefined : reply
  })
  expect([answer.status, answer.body.error.code]).toEqual([503, 'send_outcome_unknown'])
  const again = await send(second.address)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([503, 'true'])
  expect(await received()).toHaveLength(1)

  await db`update messages set created_at = now() - interval '2 minutes'`
  await second.signal('SIGTERM')
  const third = await startParley(env)
  await eventually(async () => (await db`select 1 from messages where status = 'unknown'`).length === 1)
  await third.signal('SIGTERM')
}, 300_000)
