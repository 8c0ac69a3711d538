import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { startHeldServer, stopProcess } from '../../../test/held-handshakes.ts'
import { type Receiver, startPeer, startReceiver } from '../../../test/receiver.ts'
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
  vi.waitFor(() => expect(receiver.open.size).toBe(0), { timeout: 90_000, interval: 20 })

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
