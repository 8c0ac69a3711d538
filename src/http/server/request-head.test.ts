import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'

const { db } = await createTestDatabase()
const { app } = await createTestApi({
  db,
  routes: (app) => {
    app.get('/public/v1/thing', async () => ({ ok: true }))
    app.post('/public/v1/thing', async (request) => ({ body: request.body }))
  },
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
const key = await createTestKey(db)
afterAll(() => app.close())

/** Writes a request to a socket and reads its answer until the server closes the connection. */
function speak(...lines: string[]): Promise<{ status: number; headers: string; body: { error?: { code: string } } }> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname)
    socket.write(['GET /public/v1/thing HTTP/1.1', 'Connection: close', ...lines, '', ''].join('\r\n'))
    socket
      .on('data', (bytes) => {
        answer += bytes
      })
      .on('error', reject)
      .on('close', () => {
        const [headers = '', ...rest] = answer.split('\r\n\r\n')
        resolve({ status: Number(headers.split(' ')[1]), headers, body: JSON.parse(rest.at(-1) ?? '') })
      })
  })
}

const authorization = `Authorization: ${key.headers.authorization}`

test('400 bad_request without a Host', async () => {
  const { status, headers, body } = await speak(authorization)
  expect([status, body.error?.code]).toEqual([400, 'bad_request'])
  expect(headers).toMatch(/x-request-id: req_/i)
})

test('400 bad_request for a header that is too long, whose bytes are given back at once', async () => {
  const kept: number[] = []
  app.server.on('clientError', ({ rawPacket }: Error & { rawPacket?: Buffer }) => kept.push(rawPacket?.length ?? -1))
  const { status, body } = await speak('Host: a', `X-Long: ${'x'.repeat(20_000)}`)
  expect([status, body.error?.code]).toEqual([400, 'bad_request'])
  expect(kept).toEqual([0])
})

test('417 expectation_failed for an Expect that the service does not know', async () => {
  const { status, headers, body } = await speak('Host: a', authorization, 'Expect: 200-ok')
  expect([status, body.error?.code]).toEqual([417, 'expectation_failed'])
  expect(headers).toMatch(/x-request-id: req_/i)
})

test('an Expect of 100-continue is met', async () => {
  expect((await speak('Host: a', authorization, 'Expect: 100-Continue')).headers).toMatch(/^HTTP\/1\.1 100 /)
})

test('415 unsupported_media_type for a body with a Content-Encoding other than identity', async () => {
  const post = (encoding: string, body: Buffer | string) =>
    fetch(`${address}/public/v1/thing`, {
      method: 'POST',
      headers: { ...key.headers, 'content-type': 'application/json', 'content-encoding': encoding },
      body,
    })
  for (const encoding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'nonsense']) {
    for (const body of ['{"a":1}', gzipSync('{"a":1}')]) {
      const reply = await post(encoding, body)
      expect([encoding, reply.status, await reply.json()]).toEqual([
        encoding,
        415,
        { error: { code: 'unsupported_media_type', message: expect.stringContaining('Content-Encoding') } },
      ])
    }
  }
  expect((await post('identity', '{"a":1}')).status).toBe(200)
  const bodiless = await fetch(`${address}/public/v1/thing`, {
    headers: { ...key.headers, 'content-encoding': 'gzip' },
  })
  expect(bodiless.status).toBe(200)
})
