import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createProviderAgent } from '../../platform/outgoing/exchange.ts'
import type { SenderAccess } from '../provider.ts'
import { createMetaProvider, ownAddress } from './meta.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const dispatcher = createProviderAgent()
const provider = createMetaProvider({ dispatcher, graphVersion: 'v25.0', timeoutMs: 60_000 })
const servers: Server[] = []
let seen: IncomingMessage[] = []
let answer: Handler
let base = ''
let access: SenderAccess

const listen = async (handler: Handler): Promise<string> => {
  const server = createServer(handler).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const json = (response: ServerResponse, body: object, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
const isFile = (request: IncomingMessage) => request.url?.startsWith('/file') ?? false
const fetchOne = (mediaId = '77', signal = new AbortController().signal) => provider.fetchMedia(access, mediaId, signal)

beforeAll(async () => {
  base = await listen((request, response) => {
    seen.push(request)
    answer(request, response)
  })
  access = { phoneNumberId: 'PN1', wabaAccountId: 'W1', accessToken: 'secret', apiBaseUrl: base, appId: null }
})
afterEach(() => {
  seen = []
})
afterAll(async () => {
  await dispatcher.destroy()
  for (const server of servers) server.close()
})

/** Describes one file of three bytes at the address given. */
const serve =
  (url: () => string, extra: object = {}): Handler =>
  (request, response) => {
    if (isFile(request)) response.writeHead(200, { 'content-type': 'image/x-other' }).end('abc')
    else json(response, { messaging_product: 'whatsapp', id: '77', url: url(), ...extra })
  }

describe('media that are there', () => {
  test('are asked for by id and number, then fetched with bearer and a name', async () => {
    const sha256 = 'BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD'
    answer = serve(() => `${base}/file?a=b`, { mime_type: 'image/jpeg', sha256, file_size: '3' })
    const outcome = await fetchOne()
    expect(outcome).toMatchObject({
      kind: 'fetched',
      mimeType: 'image/jpeg',
      sizeBytes: 3,
      sha256: sha256.toLowerCase(),
    })
    expect(outcome.kind === 'fetched' && String(await buffer(outcome.body))).toBe('abc')
    expect(seen.map(({ url }) => url)).toEqual(['/v25.0/77?phone_number_id=PN1', '/file?a=b'])
    for (const { headers } of seen) {
      expect(headers).toMatchObject({ authorization: 'Bearer secret', 'user-agent': 'parley' })
    }
  })

  test('may be described poorly', async () => {
    answer = serve(() => `${base}/file`, { file_size: null, sha256: 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=' })
    const outcome = await fetchOne()
    expect(outcome).toMatchObject({
      mimeType: 'image/x-other',
      sizeBytes: null,
      sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    })
    if (outcome.kind === 'fetched') outcome.body.resume()
  })

  test('are fetched from a new address when the first has died, once', async () => {
    let questions = 0
    answer = (request, response) => {
      if (!isFile(request)) {
        questions += 1
        json(response, { url: `${base}/file?${questions}` })
      } else if (request.url === '/file?1') response.writeHead(404).end('Not Found')
      else response.writeHead(200).end('abc')
    }
    const outcome = await fetchOne()
    expect(outcome.kind === 'fetched' && String(await buffer(outcome.body))).toBe('abc')

    answer = (request, response) =>
      isFile(request) ? response.writeHead(404).end() : json(response, { url: `${base}/file` })
    seen = []
    expect(await fetchOne()).toMatchObject({ kind: 'failed', error: { title: expect.stringContaining('died') } })
    expect(seen).toHaveLength(4)
  })
})

describe('the credential goes nowhere else', () => {
  test('when the provider names a foreign address', async () => {
    let visits = 0
    const foreign = await listen((_request, response) => {
      visits += 1
      response.end('abc')
    })
    for (const url of [`${foreign}/file`, 'file:///etc/passwd', `${base.replace('127.0.0.1', 'localhost')}/file`]) {
      answer = serve(() => url)
      expect(await fetchOne()).toMatchObject({
        kind: 'failed',
        error: { title: expect.stringContaining('not its own') },
      })
    }
    expect(visits).toBe(0)
    expect(seen.filter(isFile)).toEqual([])
  })

  test('when the file’s host sends elsewhere', async () => {
    let visits = 0
    const foreign = await listen((_request, response) => {
      visits += 1
      response.end('abc')
    })
    answer = (request, response) =>
      isFile(request) ? response.writeHead(302, { location: foreign }).end() : json(response, { url: `${base}/file` })
    expect(await fetchOne()).toMatchObject({ kind: 'failed', error: { title: 'HTTP 302 for the bytes' } })
    expect(visits).toBe(0)
  })

  test.each([
    ['https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1', true],
    ['https://graph.facebook.com/v25.0/x', true],
    ['https://scontent-fra3-1.xx.fbcdn.net/a.jpg', true],
    ['http://lookaside.fbsbx.com/x', false],
    ['https://lookaside.fbsbx.com:8443/x', false],
    ['https://lookaside.fbsbx.com.evil.example/x', false],
    ['https://evilfbcdn.net/x', false],
    ['https://lookaside.fbsbx.com@evil.example/x', false],
    ['https://apps.fbsbx.com/x', false],
  ])('%s: %s', (url, isOwn) => {
    const publicAccess = { ...access, apiBaseUrl: null }
    expect(ownAddress(new URL(url), publicAccess) !== undefined).toBe(isOwn)
  })

  test('an id that would be another path is no media', async () => {
    for (const id of ['..', '../me', 'a/b', 'a?b', '', 'a#b', '%2e%2e']) {
      expect(await fetchOne(id)).toEqual({ kind: 'gone' })
    }
    expect(seen).toEqual([])
  })
})

describe('media that are not to be had', () => {
  const refusal = (code: unknown, subcode?: number) => ({ error: { code, message: 'No', error_subcode: subcode } })

  test.each([
    ['404', 404, { any: 'thing' }, { kind: 'gone' }],
    ['an object that does not exist', 400, refusal(100, 33), { kind: 'gone' }],
    ['its code as text', 400, refusal('100', 33), { kind: 'gone' }],
    ['a bearer that ran out', 401, refusal(190), { kind: 'failed', error: { code: 190, title: 'No', details: null } }],
    ['a failure of the provider', 500, refusal(2), { kind: 'failed' }],
    ['too many calls', 400, refusal(80007), { kind: 'throttled', retryAfterSeconds: 60 }],
    ['an answer without address', 200, { id: '77' }, { kind: 'failed' }],
    ['an answer with half an address', 200, { url: '/file' }, { kind: 'failed' }],
  ])('%s', async (_name, status, body, expected) => {
    answer = (_request, response) => json(response, body, status)
    expect(await fetchOne()).toMatchObject(expected)
  })

  test('429, with the wait that it names', async () => {
    answer = (_request, response) => json(response, {}, 429, { 'retry-after': '7' })
    expect(await fetchOne()).toEqual({ kind: 'throttled', retryAfterSeconds: 7 })
    answer = (request, response) =>
      isFile(request) ? response.writeHead(429, { 'retry-after': '9' }).end() : json(response, { url: `${base}/file` })
    expect(await fetchOne()).toEqual({ kind: 'throttled', retryAfterSeconds: 9 })
  })

  test('a page that is no JSON, and a connection that breaks', async () => {
    answer = (_request, response) => response.writeHead(200).end('<html>')
    expect(await fetchOne()).toMatchObject({ kind: 'failed' })
    answer = (_request, response) => response.destroy()
    expect(await fetchOne()).toMatchObject({ kind: 'failed' })
    answer = (request, response) => (isFile(request) ? response.destroy() : json(response, { url: `${base}/file` }))
    expect(await fetchOne()).toMatchObject({ kind: 'failed' })
  })

  test('bytes that break off, or that the signal ends, throw while they are read', async () => {
    let breakOff = () => {}
    answer = (request, response) => {
      if (!isFile(request)) return json(response, { url: `${base}/file` })
      breakOff = () => response.destroy()
      return response.writeHead(200, { 'content-length': '10' }).write('abc')
    }
    const torn = await fetchOne()
    breakOff()
    await expect(torn.kind === 'fetched' && buffer(torn.body)).rejects.toThrow()

    answer = (request, response) => {
      if (!isFile(request)) return json(response, { url: `${base}/file` })
      return response.writeHead(200, { 'content-length': '10' }).write('abc')
    }
    const ending = new AbortController()
    const endless = await fetchOne('77', ending.signal)
    ending.abort()
    await expect(endless.kind === 'fetched' && buffer(endless.body)).rejects.toThrow()
  })
})
