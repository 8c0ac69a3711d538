import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually, startTestService, type TestService, uniquePhone } from '../../test/service.ts'
import { type Envelope, expressReceiver, fastifyReceiver, Parley, verifyWebhook } from '../src/index.ts'

const PLAIN = 'a secret of the receiver'
const ENCODED = `whsec_${randomBytes(24).toString('base64')}`
const body = JSON.stringify({
  version: '1',
  event: 'whatsapp.message.received',
  message: { wamid: 'wamid.1', text: 'Grüße 👋' },
})

/** The headers of a delivery. */
function signed(secret = PLAIN, { at = Date.now() / 1000, bytes = body } = {}): Record<string, string> {
  const timestamp = String(Math.floor(at))
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret
  const digest = createHmac('sha256', key).update(`wamid.1.${timestamp}.${bytes}`).digest('base64')
  return {
    'X-Service-Signature': createHmac('sha256', secret).update(bytes).digest('hex'),
    'webhook-id': 'wamid.1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${digest}`,
  }
}
const without = (headers: Record<string, string>, pattern: RegExp) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !pattern.test(name)))
const verdict = (...input: Parameters<typeof verifyWebhook>): Promise<unknown> =>
  verifyWebhook(...input).then(
    (received) => 'message' in received && received.message.text,
    (error) => error.code,
  )

describe('verifyWebhook', () => {
  test.each([
    ['both schemes', signed()],
    ['the signature of the service alone', without(signed(), /^webhook-/)],
    ['Standard Webhooks alone', without(signed(), /^X-/)],
    [
      'one of several signatures',
      { ...signed(), 'webhook-signature': `v2,x v1,AAAA ${signed()['webhook-signature']}` },
    ],
  ])('takes %s', async (_, headers) => {
    expect(await verdict(body, headers, PLAIN)).toBe('Grüße 👋')
    expect(await verdict(Buffer.from(body), new Headers(headers), PLAIN)).toBe('Grüße 👋')
  })

  test('takes a secret in the notation of Standard Webhooks, and the old or the new of two', async () => {
    expect(await verdict(body, signed(ENCODED), ENCODED)).toBe('Grüße 👋')
    expect(await verdict(body, signed(), [ENCODED, PLAIN])).toBe('Grüße 👋')
  })

  test.each([
    ['no signature', {}],
    ['another secret', signed('another secret')],
    ['another body', signed(PLAIN, { bytes: `${body} ` })],
    ['a signature of the service that is wrong', { ...signed(), 'X-Service-Signature': 'ff'.repeat(32) }],
    ['a signature that is no hexadecimal', { ...without(signed(), /^webhook-/), 'X-Service-Signature': 'zz' }],
    ['a Standard Webhooks signature that is wrong', { ...signed(), 'webhook-signature': 'v1,AAAA' }],
    ['another id', { ...signed(), 'webhook-id': 'wamid.2' }],
    ['an old timestamp', signed(PLAIN, { at: Date.now() / 1000 - 301 })],
    ['a timestamp ahead', signed(PLAIN, { at: Date.now() / 1000 + 302 })],
    ['no timestamp', without(signed(), /timestamp/)],
    ['a timestamp that is no number', { ...signed(), 'webhook-timestamp': 'now' }],
  ])('refuses %s', async (_, headers) => {
    expect(await verdict(body, headers, PLAIN)).toBe('invalid_signature')
  })

  test('with a scheme, a delivery without that signature is refused', async () => {
    expect(await verdict(body, without(signed(), /^webhook-/), PLAIN, { scheme: 'standard' })).toBe('invalid_signature')
    expect(await verdict(body, without(signed(), /^X-/), PLAIN, { scheme: 'service' })).toBe('invalid_signature')
  })

  test('never takes an empty secret', async () => {
    const headers = { 'X-Service-Signature': createHmac('sha256', '').update(body).digest('hex') }
    expect(await verdict(body, headers, '')).toBe('invalid_signature')
  })
})

describe('receivers get what the service delivers', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  })

  /** Registers the address, and writes as a customer. */
  async function deliverTo(url: string, secret: string): Promise<string> {
    const { key, phoneNumberId } = await service.createCompany()
    const parley = new Parley({ baseUrl: service.url, apiKey: key.token })
    await parley.createRegistration({ name: 'Shop', url, events: ['whatsapp.message.received'], secret })
    const inbound = { phoneNumberId, from: uniquePhone(), type: 'text', text: { body: 'Grüße 👋' } }
    return (await service.control('POST', '/inbound', inbound)).body.wamid
  }

  test.each([PLAIN, ENCODED])('with Express or node:http, and the secret %s', async (secret) => {
    const got: Envelope[] = []
    const server = createServer(expressReceiver({ secret, onMessage: (envelope) => got.push(envelope) }))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const wamid = await deliverTo(`http://127.0.0.1:${port}/`, secret)
    await eventually(async () => got.length === 1)
    expect(got[0]!.message).toMatchObject({ wamid, text: 'Grüße 👋' })
  })

  test('with Fastify, next to routes that parse JSON', async () => {
    const got: Envelope[] = []
    const app = Fastify()
    onTestFinished(() => app.close())
    app.post('/json', async ({ body: parsed }) => ({ parsed }))
    await app.register(fastifyReceiver({ secret: PLAIN, onMessage: (envelope) => got.push(envelope) }), {
      prefix: '/hooks',
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const wamid = await deliverTo(`${url}/hooks`, PLAIN)
    await eventually(async () => got.length === 1)
    expect(got[0]!.message).toMatchObject({ wamid, text: 'Grüße 👋' })
    const parsed = await app.inject({ method: 'POST', url: '/json', payload: { a: 1 } })
    expect(parsed.json()).toEqual({ parsed: { a: 1 } })
    const forged = await app.inject({ method: 'POST', url: '/hooks', payload: { a: 1 } })
    expect(forged.statusCode).toBe(401)
  })
})

describe('expressReceiver', () => {
  type Options = Partial<Parameters<typeof expressReceiver>[0]>
  async function post(options: Options, headers = signed(), bytes = body): Promise<number> {
    const server = createServer(expressReceiver({ secret: PLAIN, onMessage: () => undefined, ...options }))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: bytes, headers })).status
  }

  test('answers 200 when the delivery is handled', async () => expect(await post({})).toBe(200))
  test('answers 401 to a forged delivery', async () => expect(await post({}, {})).toBe(401))
  test('answers 413 to a body over the limit', async () =>
    expect(await post({ maxBytes: 10 }, signed(), 'x'.repeat(1_000_000))).toBe(413))
  test('answers 500 when the handler fails, so that Parley delivers again', async () => {
    const onMessage = () => Promise.reject(new Error('The database is away'))
    expect(await post({ onMessage })).toBe(500)
  })
})
