import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { startForwardProxy } from '../../../test/forward-proxy.ts'
import { startHeldServer, stopProcess } from '../../../test/held-handshakes.ts'
import { type Receiver, startPeer, startReceiver, startTlsReceiver } from '../../../test/receiver.ts'
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

const noSocketIsLeft = (receiver: Receiver) =>
  vi.waitFor(() => expect(receiver.open.size).toBe(0), { timeout: 10_000, interval: 20 })

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

describe('a hostile receiver', () => {
  const answerLine = 'HTTP/1.1 200 OK\r\n'
  const afterRequest = (speak: (socket: Parameters<Parameters<typeof startPeer>[0]>[0]) => void) =>
    startPeer((socket) => socket.once('data', () => speak(socket)))

  it('that drips its headers is left at the deadline', async () => {
    const peer = await afterRequest(async (socket) => {
      socket.write(answerLine)
      for (let count = 0; !socket.destroyed; count += 1) {
        socket.write(`X-${count}: 1\r\n`)
        await sleep(20)
      }
    })
    expect(await post(peer, { timeoutMs: 400 })).toMatchObject({
      kind: 'unreachable',
      statusCode: null,
      response: null,
      errorMessage: 'the receiver did not answer within 0.4 s',
    })
    await noSocketIsLeft(peer)
  })

  it('that drips its body is left at the deadline; the part that came is kept', async () => {
    const peer = await afterRequest(async (socket) => {
      socket.write(`${answerLine}Content-Length: 100000\r\n\r\n`)
      while (!socket.destroyed) {
        socket.write('x')
        await sleep(20)
      }
    })
    // Must be long enough for the headers to arrive on a busy machine.
    const outcome = await post(peer, { timeoutMs: 4_000 })
    expect(outcome).toMatchObject({
      kind: 'unreachable',
      statusCode: 200,
      errorMessage: "the receiver's answer (200) was not complete within 4 s",
    })
    expect(outcome.response).toMatch(/^x+$/)
    await noSocketIsLeft(peer)
  })

  it('that never stops answering costs 64 KiB; its status counts', async () => {
    const peer = await afterRequest((socket) => {
      socket.write(`${answerLine}\r\n`)
      const flood = () => {
        while (!socket.destroyed && socket.write(`${'é'.repeat(1_000)}x`));
      }
      socket.on('drain', flood)
      flood()
    })
    const outcome = await post(peer)
    expect(outcome).toMatchObject({ kind: 'delivered', statusCode: 200 })
    expect(Buffer.byteLength(outcome.response!)).toBeGreaterThan(65_000)
    expect(Buffer.byteLength(outcome.response!)).toBeLessThanOrEqual(65_536)
    expect(outcome.response).not.toContain('\ufffd')
    await noSocketIsLeft(peer)
  })

  it('that sends broken bytes without end is kept in 64 KiB of text', async () => {
    const receiver = await startReceiver((_, response) => response.end(Buffer.alloc(65_536, 0xff)))
    expect(Buffer.byteLength((await post(receiver)).response!)).toBeLessThanOrEqual(65_536)
  })

  it('whose answer the limit cuts within a character loses that character', async () => {
    const receiver = await startReceiver((_, response) => response.end(`${'x'.repeat(65_533)}👋`))
    expect((await post(receiver)).response).toBe('x'.repeat(65_533))
  })

  it.each([
    ['hangs up at once', () => startPeer((socket) => socket.end())],
    ['resets at once', () => startPeer((socket) => socket.resetAndDestroy())],
    ['resets after the request', () => afterRequest((socket) => socket.resetAndDestroy())],
    ['hangs up after the request', () => afterRequest((socket) => socket.end())],
  ])('that %s is unreachable', async (_, start) => {
    const peer = await start()
    expect(await post(peer)).toMatchObject({
      kind: 'unreachable',
      statusCode: null,
      errorMessage: 'the receiver closed the connection before it answered',
    })
    await noSocketIsLeft(peer)
  })

  it('that breaks off in the middle of its answer has not answered', async () => {
    const peer = await afterRequest((socket) => socket.end(`${answerLine}Content-Length: 10\r\n\r\nhalf`))
    expect(await post(peer)).toMatchObject({
      kind: 'unreachable',
      statusCode: 200,
      response: 'half',
      errorMessage: 'the receiver closed the connection in the middle of its answer (200)',
    })
  })

  it('that sends huge headers is dropped', async () => {
    const peer = await afterRequest((socket) => socket.write(`${answerLine}X-Big: ${'x'.repeat(200_000)}\r\n\r\n`))
    expect(await post(peer)).toMatchObject({
      kind: 'unreachable',
      errorMessage: "the headers of the receiver's answer are too large",
    })
    await noSocketIsLeft(peer)
  })

  it('that speaks no HTTP is dropped', async () => {
    const peer = await afterRequest((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n\r\n'))
    expect((await post(peer)).errorMessage).toBe("the receiver's answer is not valid HTTP")
    await noSocketIsLeft(peer)
  })

  it('that floods interim answers is dropped', async () => {
    const peer = await afterRequest(async (socket) => {
      while (!socket.destroyed) {
        socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(10))
        await sleep(5)
      }
    })
    expect(await post(peer)).toMatchObject({
      kind: 'unreachable',
      errorMessage: 'the receiver sent too many interim (1xx) answers',
    })
    await noSocketIsLeft(peer)
  })

  it('that switches protocols unasked is dropped', async () => {
    const peer = await afterRequest((socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    )
    expect(await post(peer)).toMatchObject({ kind: 'unreachable', statusCode: null, errorMessage: expect.any(String) })
    await noSocketIsLeft(peer)
  })

  it('that accepts and then says nothing is left at the deadline', async () => {
    const peer = await startPeer(() => undefined)
    expect((await post(peer, { timeoutMs: 300 })).errorMessage).toBe('the receiver did not answer within 0.3 s')
    await noSocketIsLeft(peer)
  })

  it('that never finishes the TLS handshake is left at the deadline', async () => {
    const peer = await startPeer(() => undefined)
    const hasty = createReceiverClient({ allowPrivate: true, connectTimeoutMs: 1_000 })
    const url = peer.url.replace('http:', 'https:')
    const outcome = await hasty.post({ url, ...EMPTY_POST, timeoutMs: 300 })
    expect(outcome.errorMessage).toBe('the receiver did not answer within 0.3 s')
    await noSocketIsLeft(peer)
    await hasty.close()
  })

  it('whose TLS handshake ends after the deadline gets nothing of that attempt', async () => {
    const server = await startHeldServer()
    const patient = createReceiverClient({ allowPrivate: true, ca: server.cert })
    const target = { ...EMPTY_POST, timeoutMs: 60_000 } as const
    const late = await patient.post({ ...target, url: `${server.url}/late`, timeoutMs: 300 })
    expect(late.errorMessage).toBe('the receiver did not answer within 0.3 s')
    const next = patient.post({ ...target, url: `${server.url}/next` })
    server.release()
    expect(await next).toMatchObject({ kind: 'delivered' })
    await patient.close()
    expect(server.paths).toEqual(['/next'])
  })

  it('gets nothing of an attempt whose deadline passed while the process was stopped', async () => {
    const receiver = await startReceiver()
    const late = post({ url: `${receiver.url}late` }, { timeoutMs: 300 })
    stopProcess(600)
    expect((await late).errorMessage).toBe('the receiver did not answer within 0.3 s')
    expect(await post({ url: `${receiver.url}next` })).toMatchObject({ kind: 'delivered' })
    await noSocketIsLeft(receiver)
    expect(receiver.received.map(({ url }) => url)).toEqual(['/next'])
  })

  it('whose name server never answers is left at the deadline', async () => {
    const hanging = createReceiverClient({ allowPrivate: false, resolve: () => new Promise(() => undefined) })
    const target = { url: 'https://slow.example/', ...EMPTY_POST, timeoutMs: 300 } as const
    expect((await hanging.post(target)).errorMessage).toBe('the receiver did not answer within 0.3 s')
    await hanging.close()
  })

  it('that is not there has refused', async () => {
    const receiver = await startReceiver()
    await receiver.close()
    const outcome = await post(receiver)
    expect(outcome).toMatchObject({
      kind: 'unreachable',
      errorMessage: 'the receiver refused the connection (ECONNREFUSED)',
    })
  })

  it.each([
    'not a url',
    'ftp://example.com/',
    'http://[::1',
  ])('whose stored address is %s never makes it throw', async (url) => {
    expect(await post({ url })).toMatchObject({ kind: 'unreachable', errorMessage: expect.any(String) })
  })

  it.each([
    { 'x-bad': 'a\nb' },
    { 'bad name': 'a' },
    { expect: '100-continue' },
  ])('and headers that cannot be sent never make it throw', async (headers) => {
    const receiver = await startReceiver()
    expect(await post(receiver, { headers })).toMatchObject({ kind: 'unreachable', errorMessage: expect.any(String) })
    expect(receiver.received).toHaveLength(0)
  })

  it('does not hold up another one', async () => {
    const [slow, quick] = [await startPeer(() => undefined), await startReceiver()]
    const hanging = Array.from({ length: 50 }, () => post(slow, { timeoutMs: 1_500 }))
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => post(quick)))
    expect(outcomes.every(({ kind }) => kind === 'delivered')).toBe(true)
    expect(slow.open.size).toBeGreaterThan(0)
    await Promise.all(hanging)
    await noSocketIsLeft(slow)
  })
})
