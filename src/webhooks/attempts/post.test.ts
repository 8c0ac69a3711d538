import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { startForwardProxy } from '../../../test/forward-proxy.ts'
import { type Receiver, startReceiver, startTlsReceiver } from '../../../test/receiver.ts'
import { fixedClock } from '../../platform/clock.ts'
import { createReceiverClient, type ReceiverTarget } from './post.ts'

const clock = fixedClock('2026-01-01T00:00:00Z')
const client = createReceiverClient({ allowPrivate: true, clock })

afterAll(() => client.close())
const EMPTY_POST = { method: 'POST', headers: {}, body: Buffer.from('{}'), registrationId: 1 } as const

const post = (receiver: Pick<Receiver, 'url'>, changes: Partial<ReceiverTarget> = {}) =>
  client.post({
    url: receiver.url,
    method: 'POST',
    headers: {},
    body: Buffer.from('{"a":"é"}'),
    timeoutMs: 60_000,
    registrationId: 1,
    ...changes,
  })

describe('an attempt', () => {
  it.each(['POST', 'GET'] as const)('delivers with %s: the body to the byte, and every header', async (method) => {
    const receiver = await startReceiver((_, response) => response.writeHead(202).end('thanks'))
    const headers = { 'Content-Type': 'application/json', 'X-Service-Delivery': 'wamid.A', 'X-Latin': 'caf\u00e9' }
    const outcome = await post(receiver, { method, headers, url: `${receiver.url}hook?x=1` })
    expect(outcome).toEqual({
      kind: 'delivered',
      statusCode: 202,
      response: 'thanks',
      errorMessage: null,
      retryAfterSeconds: null,
      durationMs: expect.any(Number),
    })
    const [got] = receiver.received
    expect(got).toMatchObject({ method, url: '/hook?x=1' })
    expect(got!.body.toString('utf8')).toBe('{"a":"é"}')
    expect(got!.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '10',
      'x-service-delivery': 'wamid.A',
      'x-latin': 'caf\u00e9',
    })
    expect(got!.rawHeaders).toContain('X-Service-Delivery')
  })

  it('of another registration has a connection of its own', async () => {
    const receiver = await startReceiver()
    for (let registrationId = 1; registrationId <= 8; registrationId += 1) await post(receiver, { registrationId })
    expect(receiver.opened()).toBeGreaterThanOrEqual(8)
  })

  it.each([1, 22, 25, 1023])('opens no socket to port %i', async (port) => {
    expect(await post({ url: `http://127.0.0.1:${port}/` })).toMatchObject({
      kind: 'blocked',
      statusCode: null,
      errorMessage: "the receiver's port is not 80, 443 or one of 1024 to 65535",
    })
  })

  it.each(['POST', 'GET'] as const)('keeps the connection for the next %s', async (method) => {
    const receiver = await startReceiver()
    for (let count = 0; count < 10; count += 1) expect((await post(receiver, { method })).kind).toBe('delivered')
    // The client may open a second connection while the first is becoming free.
    expect(receiver.opened()).toBeLessThanOrEqual(2)
  })

  it.each([200, 201, 204, 299])('counts %i as delivered', async (status) => {
    const receiver = await startReceiver((_, response) => response.writeHead(status).end())
    expect(await post(receiver)).toMatchObject({
      kind: 'delivered',
      statusCode: status,
      errorMessage: null,
      response: '',
    })
  })

  it.each([400, 401, 404, 410, 429, 500, 503, 300, 304])('counts %i as refused', async (status) => {
    const receiver = await startReceiver((_, response) => response.writeHead(status).end())
    const errorMessage = `the receiver answered ${status}`
    expect(await post(receiver)).toMatchObject({ kind: 'refused', statusCode: status, errorMessage })
  })

  it.each([301, 302, 303, 307, 308])('does not follow a redirect %i', async (status) => {
    const other = await startReceiver()
    const receiver = await startReceiver((_, response) =>
      response.writeHead(status, { location: other.url }).end('moved'),
    )
    expect(await post(receiver)).toMatchObject({
      kind: 'refused',
      statusCode: status,
      response: 'moved',
      errorMessage: `the receiver answered with a redirect (${status}), which is not followed`,
    })
    expect(other.received).toHaveLength(0)
  })

  it.each([
    ['120', 429, 120],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 503, 90],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 503, null],
    ['soon', 429, null],
    ['-5', 429, null],
    ['120', 500, null],
  ])('reads Retry-After %s on %i as %s', async (value, status, seconds) => {
    const receiver = await startReceiver((_, response) => response.writeHead(status, { 'retry-after': value }).end())
    expect((await post(receiver)).retryAfterSeconds).toBe(seconds)
  })

  it('keeps text that PostgreSQL takes: no NUL, no broken UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('a\0b'), Buffer.from([0xff, 0xc3]), Buffer.from('é')])
    const receiver = await startReceiver((_, response) => response.end(bytes))
    expect((await post(receiver)).response).toBe('a\ufffdb\ufffd\ufffdé')
  })

  it('does not inflate a compressed answer', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    const receiver = await startReceiver((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    const { response, kind } = await post(receiver)
    expect(kind).toBe('delivered')
    expect(Buffer.byteLength(response!)).toBeLessThanOrEqual(65_536)
  })
})

describe('TLS', () => {
  it('delivers to a certificate that is trusted and says why not to one that is not', async () => {
    const receiver = await startTlsReceiver((_, response) => response.end('safe'))
    expect(await post(receiver)).toMatchObject({
      kind: 'unreachable',
      statusCode: null,
      errorMessage: 'the TLS connection to the receiver failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    })
    expect(receiver.received).toHaveLength(0)
    const trusting = createReceiverClient({ allowPrivate: true, ca: receiver.cert })
    const target = { url: receiver.url, ...EMPTY_POST, timeoutMs: 60_000 } as const
    expect(await trusting.post(target)).toMatchObject({ kind: 'delivered', response: 'safe' })
    const wrongName = await trusting.post({ ...target, url: receiver.url.replace('localhost', '127.0.0.1') })
    expect(wrongName.errorMessage).toMatch(
      /^the TLS connection to the receiver failed \(ERR_TLS_CERT_ALTNAME_INVALID\)|refused/,
    )
    await trusting.close()
  })

  it('says so when the other side speaks no TLS', async () => {
    const receiver = await startReceiver()
    const outcome = await post({ url: receiver.url.replace('http:', 'https:') })
    expect(outcome).toMatchObject({ kind: 'unreachable', statusCode: null })
    expect(outcome.errorMessage).toMatch(/^the TLS connection to the receiver failed \(/)
  })
})

describe('a proxy', () => {
  const NAME = 'receiver.example.com'

  it('opens the connections of all deliveries', async () => {
    const [proxy, receiver] = await Promise.all([
      startForwardProxy(),
      startTlsReceiver((_, response) => response.end('safe'), NAME),
    ])
    const proxied = createReceiverClient({ allowPrivate: false, ca: receiver.cert, proxy: proxy.url })
    const url = receiver.url.replace('localhost', NAME)
    expect(await proxied.post({ url, ...EMPTY_POST, timeoutMs: 60_000 })).toMatchObject({ kind: 'delivered' })
    expect(proxy.passed).toEqual([`CONNECT ${new URL(url).host}`])
    await proxied.close()
  })

  it('is not asked for private addresses, and its refusal is told from the receiver’s', async () => {
    const proxy = await startForwardProxy({ refuses: true })
    const proxied = createReceiverClient({ allowPrivate: false, proxy: proxy.url })
    const target = { ...EMPTY_POST, timeoutMs: 60_000 } as const
    expect(await proxied.post({ url: 'https://10.0.0.1/', ...target })).toMatchObject({ kind: 'blocked' })
    expect(proxy.passed).toEqual([])
    expect(await proxied.post({ url: `https://${NAME}/`, ...target })).toMatchObject({
      kind: 'unreachable',
      errorMessage: 'the proxy refused the connection to the receiver',
    })
    await proxied.close()
  })
})
