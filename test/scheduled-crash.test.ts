import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { startSandbox } from '../sandbox/sandbox.ts'
import { ADMIN_TOKEN } from './api.ts'
import { createTestDatabase } from './database.ts'
import { endBlocked, holdOpen, untilBlocked } from './held-locks.ts'
import { dataFolder, startParley } from './parley-process.ts'
import { eventually } from './service.ts'
import { expireLeases } from './world.ts'

test('a scheduled message goes once, though processes are killed before it, and while the provider is asked', async () => {
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
  const post = async (address: string, path: string, token: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return { status: response.status, body: (await response.json()) as any }
  }
  const control = async (path: string, method = 'GET', body?: object) => {
    const response = await fetch(`${sandbox.url}/sandbox${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await response.json()) as { to: string }[]
  }
  const company = await post(first.address, '/admin/v1/companies', ADMIN_TOKEN, { name: 'Acme' })
  const base = `/admin/v1/companies/${company.body.id}`
  const key = await post(first.address, `${base}/api-keys`, ADMIN_TOKEN, { name: 'Key', permissions: ['WhatsApp'] })
  const sender = await post(first.address, `${base}/senders`, ADMIN_TOKEN, {
    provider: 'meta',
    phoneNumber: '+44 7700 900100',
    phoneName: 'Acme',
    phoneNumberId: '100000000000001',
    wabaAccountId: '200000000000001',
    accessToken: 'token',
    apiBaseUrl: sandbox.url,
  })
  expect(sender.status).toBe(201)
  const [early, asked] = ['393331110001', '393331110002']
  const schedule = async (recipient: string) => {
    const { status, body } = await post(first.address, '/public/v1/templates/whatsapp/send', key.body.token, {
      recipient,
      type: 'template',
      template: { name: 'shipping_notice' },
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    expect(status).toBe(202)
    return body.data.id as number
  }
  const [earlyId, askedId] = [await schedule(early), await schedule(asked)]
  const makeDue = (id: number) => db`update jobs set due_at = now() where kind = 'message.send' and subject_id = ${id}`
  const stateOf = async (id: number) => {
    const [row] = await db<{ status: string; message: string | null }[]>`
      select scheduled.status, message.status as message
      from scheduled_messages scheduled
      left join messages message on (message.company_id, message.id) = (scheduled.company_id, scheduled.message_id)
      where scheduled.id = ${id}
    `
    return row
  }
  const untilEnded = () =>
    eventually(async () => (await db`select from jobs where kind = 'message.send' and due_at <= now()`).length === 0)

  // Killed before its transaction: the message waits, and goes with the next process.
  const release = await holdOpen(db, 'select from scheduled_messages for update')
  await makeDue(earlyId)
  await untilBlocked(db)
  await first.signal('SIGKILL')
  await endBlocked(db)
  await release()
  expect(await stateOf(earlyId)).toEqual({ status: 'scheduled', message: null })
  await expireLeases(db)
  const second = await startParley(env)
  await untilEnded()
  expect(await stateOf(earlyId)).toEqual({ status: 'sent', message: 'sent' })

  // Killed while the provider, which took it, does not answer: it is not sent again.
  await control('/behaviour', 'PUT', { hang: true })
  await makeDue(askedId)
  await eventually(async () => (await control('/messages')).some(({ to }) => to === asked))
  await second.signal('SIGKILL')
  await control('/behaviour', 'PUT', { hang: false })
  await expireLeases(db)
  await db`update messages set created_at = now() - interval '2 minutes' where status = 'pending'`
  const third = await startParley(env)
  await untilEnded()
  await eventually(async () => (await stateOf(askedId))?.message === 'unknown')
  await third.signal('SIGTERM')
  expect(await stateOf(askedId)).toEqual({ status: 'sent', message: 'unknown' })
  expect((await control('/messages')).map(({ to }) => to).sort()).toEqual([early, asked])
}, 300_000)
