import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { createTestDatabase } from '../database.ts'
import { startParley, until } from '../parley-process.ts'
import { startReceiver } from '../receiver.ts'

const { db, url: databaseUrl } = await createTestDatabase()
const secrets = new Map<string, string>()

/** A secret that no other text contains. */
function secret(name: string, text = randomBytes(24).toString('hex')): string {
  secrets.set(name, text)
  return text
}

/** How a text may stand in a line. */
const writings = (text: string): string[] => [
  text,
  encodeURIComponent(text),
  ...(['base64', 'base64url', 'hex'] as const).map((encoding) =>
    Buffer.from(text).toString(encoding).replace(/=+$/, ''),
  ),
]

/** A mail server that refuses every login, with the login in its words. */
async function startRefusingMailServer(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).write('220 mail\r\n')
    socket.on('data', (bytes) => {
      const line = String(bytes).trim()
      socket.write(line.startsWith('EHLO') ? '250-mail\r\n250 AUTH PLAIN LOGIN\r\n' : `535 5.7.8 refused: ${line}\r\n`)
    })
  })
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return `smtp://mailer:${secret('password of the mail server')}@127.0.0.1:${port}`
}

test('at the level trace no secret is in the log, whatever is refused or fails', async () => {
  const sandbox = await startSandbox({ autoStatus: false })
  onTestFinished(() => sandbox.stop())
  const refusing = await startReceiver((request, response) => {
    response.statusCode = 500
    response.end(JSON.stringify(request.headers))
  })
  const adminToken = secret('ADMIN_TOKEN')
  const verifyToken = secret('WHATSAPP_VERIFY_TOKEN')
  const reportsSecret = secret('MAIL_REPORTS_SECRET')
  const parley = await startParley({
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'trace',
    ADMIN_TOKEN: adminToken,
    ENCRYPTION_KEY: secret('ENCRYPTION_KEY', randomBytes(32).toString('base64')),
    METRICS_TOKEN: secret('METRICS_TOKEN'),
    WHATSAPP_VERIFY_TOKEN: verifyToken,
    MAIL_REPORTS_SECRET: reportsSecret,
    SMTP_URL: await startRefusingMailServer(),
    WEBHOOK_ALLOW_PRIVATE: 'true',
    REDIS_URL: `redis://cache:${secret('password of the cache')}@127.0.0.1:1/0`,
  })
  const call = async (method: string, path: string, token: string, body?: unknown, headers = {}) => {
    const answer = await fetch(`${parley.address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      text,
      body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined,
    }
  }
  const admin = (method: string, path: string, body?: unknown) => call(method, `/admin/v1${path}`, adminToken, body)

  const { id } = (await admin('POST', '/companies', { name: 'Acme' })).body
  const key = (
    await admin('POST', `/companies/${id}/api-keys`, { name: 'Shop', permissions: ['WhatsApp', 'Transactional'] })
  ).body
  secret('API key', key.token)
  secret('secret of the API key', key.token.split('-').at(-1))
  const api = (method: string, path: string, body?: unknown, headers = {}) =>
    call(method, `/public/v1${path}`, key.token, body, headers)
  const phoneNumberId = '109876543210'
  await fetch(`${sandbox.url}/sandbox/numbers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      phoneNumberId,
      displayPhoneNumber: '+39 333 1112223',
      verifiedName: 'Acme',
      wabaAccountId: '200000000000001',
    }),
  })
  const sender = {
    ...{
      provider: 'meta',
      phoneNumber: '+39 333 1112223',
      phoneName: 'Acme',
      phoneNumberId,
      wabaAccountId: '200000000000001',
    },
    accessToken: secret('accessToken'),
    appSecret: secret('appSecret'),
  }
  const connected = await admin('POST', `/companies/${id}/senders`, { ...sender, apiBaseUrl: sandbox.url })
  expect(connected.status, connected.text).toBe(201)
  await admin('POST', `/companies/${id}/senders`, { ...sender, phoneNumberId: '1', apiBaseUrl: 'http://127.0.0.1:1' })
  await admin('POST', `/companies/${id}/senders`, {
    ...sender,
    accesToken: sender.accessToken,
    apiBaseUrl: sandbox.url,
  })

  const registration = {
    ...{ name: 'Shop', url: `${refusing.url}/?token=${secret('token in the address of the receiver')}` },
    secret: secret('secret of the receiver'),
    headers: { 'x-api-key': secret('header of the receiver') },
    events: ['contact.changed'],
  }
  const registered = await api('POST', '/webhooks/registrations', registration)
  expect(registered.status, registered.text).toBe(201)
  await api('POST', `/webhooks/registrations/${registered.body.id}/test`)
  await api('POST', '/webhooks/registrations', { ...registration, url: 'http://no-such-host.invalid/' })

  const text = secret('text of a message')
  const email = `${secret('address of a contact')}@example.com`
  await api(
    'POST',
    '/contacts',
    { email, firstName: text, customFields: { note: text } },
    { 'idempotency-key': secret('Idempotency-Key') },
  )
  await api('POST', '/contacts', `{"email": "${email}", "firstName": "${text}"`)
  await api('POST', '/contacts', { email, firstname: text, [text]: text })
  await api('GET', `/contacts/by-email/${encodeURIComponent(email)}?search=${text}`)
  await api('POST', '/templates/whatsapp/send', { type: 'text', recipient: '393331234567', text })
  await api('POST', '/emails', { to: email, subject: text, html: text, from: 'shop@example.org', fromName: text })
  await call('GET', '/metrics', secret('wrong METRICS_TOKEN'))
  await call('GET', '/public/v1/me', `${key.token.slice(0, -4)}${secret('end of a wrong key', 'zzzq')}`)
  await call('GET', '/admin/v1/companies', secret('wrong ADMIN_TOKEN'))
  await call(
    'GET',
    `/public/v1/webhooks/whatsapp?hub.mode=subscribe&hub.verify_token=${verifyToken}&hub.challenge=1`,
    '',
  )
  await call('POST', `/public/v1/webhooks/whatsapp`, '', { object: text, entry: [{ id: text }] })
  const basic = Buffer.from(`parley:${reportsSecret}`).toString('base64')
  await call(
    'POST',
    '/public/v1/webhooks/email/postmark',
    '',
    { Metadata: { report: text } },
    { authorization: `Basic ${basic}` },
  )
  const link = (await admin('POST', `/companies/${id}/sign-in-links`, { name: 'Mara', role: 'admin' })).body
  const page = { origin: parley.address, 'sec-fetch-site': 'same-origin' }
  const code = secret('code of a sign-in link', new URL(link.url).hash.replace('#code=', ''))
  const signedIn = await fetch(`${parley.address}/console/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...page },
    body: JSON.stringify({ token: code }),
  })
  expect(signedIn.status).toBe(200)
  secret('cookie of the console', /=([^;]+);/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1])
  await call('POST', '/console/api/session', '', { token: secret('wrong code') }, page)

  // Statements that fail, with the row among the details of the database.
  await db`alter table contacts add constraint refused check (first_name is null or first_name not like 'No%')`
  expect((await api('POST', '/contacts', { email: `x${email}`, firstName: `No ${text}` })).status).toBe(500)
  await until(
    'the mail was refused, and the delivery failed',
    () => /mail/.test(parley.output()) && refusing.received.length > 1,
  )
  await db`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await api('GET', '/contacts')
  expect(await parley.signal('SIGTERM')).toBe(0)

  const output = parley.output()
  expect(output).toContain('request.answered')
  const found = [...secrets].filter(([, text]) => writings(text).some((one) => output.includes(one)))
  expect(found.map(([name, text]) => [name, output.split('\n').find((line) => line.includes(text))])).toEqual([])
}, 300_000)
