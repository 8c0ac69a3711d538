import { writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createCertificate } from '../../../test/deploy/certificate.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { type Config, readConfig } from '../../platform/settings/config.ts'
import { createMetrics } from '../../platform/telemetry/metrics.ts'
import { healthRoutes } from '../server/health-routes.ts'
import { adviceOnHttps } from './https-rule.ts'

const { db } = await createTestDatabase()
const key = await createTestKey(db)
const mailHealth = { details: () => ({ service: { status: 'ok' } }) }
const opened: FastifyInstance[] = []
afterAll(async () => {
  for (const app of opened) await app.close()
})

const OPEN = { metricsToken: undefined, baseUrl: 'http://127.0.0.1:3000' }

async function open(config: Partial<Config> = {}): Promise<FastifyInstance> {
  const { app } = await createTestApi({
    db,
    config,
    routes: async (app) => {
      app.get('/public/v1/thing', async () => ({ ok: true }))
      app.post('/public/v1/thing', async (request) => ({ body: request.body }))
      app.post('/public/v1/events', { config: { surface: 'provider' } }, async () => ({ ok: true }))
      app.post('/public/v1/large', { bodyLimit: 8 * 1024 * 1024 }, async () => ({ ok: true }))
      await app.register(healthRoutes({ config: { ...OPEN, ...config }, db, metrics: createMetrics(), mailHealth }))
    },
  })
  opened.push(app)
  return app
}

const get = (
  app: FastifyInstance,
  remoteAddress: string,
  headers: Record<string, string> = {},
  url = '/public/v1/thing',
) => app.inject({ url, remoteAddress, headers: { ...key.headers, ...headers } })
const statusOf = async (...args: Parameters<typeof get>): Promise<number> => (await get(...args)).statusCode

describe('plain HTTP', () => {
  test('gets 403 with no redirect and no rate-limit headers, even without a key and for preflights', async () => {
    const app = await open()
    const reply = await get(app, '203.0.113.9')
    expect(reply.statusCode).toBe(403)
    expect(reply.json()).toEqual({ error: { code: 'forbidden', message: expect.stringMatching(/^HTTPS is required/) } })
    // Both remedies are named: a certificate or a trusted proxy.
    expect(reply.json().error.message).toMatch(/TLS_CERT_FILE.*TRUST_PROXY.*PLAIN_HTTP=loopback/)
    expect(reply.headers).not.toHaveProperty('x-ratelimit-limit')
    expect(reply.headers).not.toHaveProperty('location')
    expect(reply.headers['x-request-id']).toMatch(/^req_/)
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/public/v1/thing',
      remoteAddress: '203.0.113.9',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
    })
    expect(preflight.json().error.message).toMatch(/^HTTPS is required/)
  })

  test('is let in for local work: from this machine, and through no proxy', async () => {
    const app = await open()
    for (const peer of ['127.0.0.1', '127.3.4.5', '::1', '::ffff:127.0.0.1'])
      expect(await statusOf(app, peer)).toBe(200)
    for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']) {
      expect(await statusOf(app, '127.0.0.1', { [name]: 'https' })).toBe(403)
    }
    expect(await statusOf(await open({ plainHttp: 'reject' }), '127.0.0.1')).toBe(403)
  })

  test('is enough for the events of a sandbox on this machine, and only while it is on', async () => {
    const post = async (sandbox: boolean, remoteAddress: string, headers: Record<string, string> = {}) => {
      const app = await open({ plainHttp: 'reject', sandbox })
      return (await app.inject({ method: 'POST', url: '/public/v1/events', remoteAddress, headers })).statusCode
    }
    expect(await post(true, '127.0.0.1')).toBe(200)
    expect(await post(false, '127.0.0.1')).toBe(403)
    expect(await post(true, '203.0.113.9')).toBe(403)
    expect(await post(true, '127.0.0.1', { 'x-forwarded-for': '203.0.113.9' })).toBe(403)
    expect(await statusOf(await open({ plainHttp: 'reject', sandbox: true }), '127.0.0.1')).toBe(403)
  })

  test('is enough for /healthz, /readyz and /metrics', async () => {
    const app = await open({ plainHttp: 'reject' })
    for (const [url, remoteAddress] of [
      ['/healthz', '203.0.113.9'],
      ['/readyz', '203.0.113.9'],
      ['/metrics', '10.0.0.9'],
    ] as const) {
      const reply = await app.inject({ url, remoteAddress })
      expect([url, reply.statusCode, reply.headers['x-ratelimit-limit']]).toEqual([url, 200, undefined])
    }
    expect((await app.inject({ url: '/metrics' })).body).toContain('process_cpu_seconds_total')
  })
})

describe('/metrics', () => {
  const read = async (app: FastifyInstance, remoteAddress: string, headers: Record<string, string> = {}) => {
    const reply = await app.inject({ url: '/metrics', remoteAddress, headers })
    return [remoteAddress, reply.statusCode, reply.statusCode === 200 ? undefined : codeOf(reply.json())]
  }

  test('are read by loopback and private peers, and through no proxy', async () => {
    const app = await open({ trustProxy: ['10.0.0.0/8'] })
    for (const peer of ['127.0.0.1', '::1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '::ffff:10.0.0.1', 'fd00::1']) {
      expect(await read(app, peer)).toEqual([peer, 200, undefined])
      for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-proto']) {
        expect(await read(app, peer, { [name]: 'https' })).toEqual([peer, 403, 'forbidden'])
      }
    }
    for (const peer of ['203.0.113.9', '172.32.0.1', '2001:db8::1']) {
      expect(await read(app, peer)).toEqual([peer, 403, 'forbidden'])
    }
  })

  test('are refused under a name that a page of another site may have', async () => {
    const app = await open({ baseUrl: 'https://parley.example' })
    for (const host of ['127.0.0.1:3000', '10.1.2.3', '[::1]:3000', 'localhost:3000', 'parley.example']) {
      expect([host, ...(await read(app, '127.0.0.1', { host }))]).toEqual([host, '127.0.0.1', 200, undefined])
    }
    for (const host of [
      'evil.example',
      'evil.example:3000',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'a@[::1]',
    ]) {
      expect([host, ...(await read(app, '127.0.0.1', { host }))]).toEqual([host, '127.0.0.1', 403, 'forbidden'])
    }
  })

  test('require METRICS_TOKEN from everyone when it is set', async () => {
    const token = 'metrics-token-for-tests'
    const app = await open({ metricsToken: token })
    for (const peer of ['127.0.0.1', '10.1.2.3', '203.0.113.9']) {
      expect(await read(app, peer)).toEqual([peer, 401, 'unauthorized'])
      expect(await read(app, peer, { authorization: 'Bearer another' })).toEqual([peer, 401, 'unauthorized'])
      expect(await read(app, peer, { authorization: `Bearer ${token}` })).toEqual([peer, 200, undefined])
    }
  })
})

describe('the details of /readyz', () => {
  const read = async (app: FastifyInstance, remoteAddress: string, headers: Record<string, string> = {}) => {
    const reply = await app.inject({ url: '/readyz', remoteAddress, headers })
    return [reply.statusCode, reply.json()]
  }
  const bare = { status: 'ok' }
  const detailed = { status: 'ok', details: { mail: mailHealth.details() } }

  test('are not shown under a name that a page of another site may have', async () => {
    const app = await open({ plainHttp: 'reject' })
    expect(await read(app, '127.0.0.1', { host: 'evil.example' })).toEqual([200, bare])
  })

  test('are shown to loopback and private peers, and through no proxy', async () => {
    const app = await open({ plainHttp: 'reject' })
    for (const peer of ['127.0.0.1', '10.1.2.3']) {
      expect(await read(app, peer)).toEqual([200, detailed])
      expect(await read(app, peer, { 'x-forwarded-for': '203.0.113.9' })).toEqual([200, bare])
    }
    expect(await read(app, '203.0.113.9')).toEqual([200, bare])
  })

  test('require METRICS_TOKEN when it is set', async () => {
    const token = 'metrics-token-for-tests'
    const app = await open({ metricsToken: token })
    expect(await read(app, '127.0.0.1')).toEqual([200, bare])
    expect(await read(app, '203.0.113.9', { authorization: `Bearer ${token}` })).toEqual([200, detailed])
  })
})

describe('behind a proxy', () => {
  const trustProxy = ['10.0.0.0/8', '192.0.2.7', '::ffff:172.16.0.0/108', '2001:db8::/32']

  test('a request is HTTPS when a trusted proxy says so', async () => {
    const app = await open({ plainHttp: 'reject', trustProxy })
    const https = { 'x-forwarded-proto': 'https' }
    for (const peer of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '172.16.5.5', '2001:db8::5']) {
      expect([peer, await statusOf(app, peer, https)]).toEqual([peer, 200])
      expect([peer, await statusOf(app, peer)]).toEqual([peer, 403])
    }
    for (const peer of ['11.1.2.3', '192.0.2.8', '2001:db9::5', '127.0.0.1']) {
      expect([peer, await statusOf(app, peer, https)]).toEqual([peer, 403])
    }
    expect(await statusOf(app, '10.1.2.3', { 'x-forwarded-proto': 'http' })).toBe(403)
    expect(await statusOf(app, '10.1.2.3', { 'x-forwarded-proto': 'https, http' })).toBe(403)
  })

  test('an anonymous client is counted by the last address that is not trusted', async () => {
    const app = await open({ plainHttp: 'reject', trustProxy })
    const remaining = async (peer: string, forwardedFor: string): Promise<number> => {
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': forwardedFor }
      const reply = await app.inject({ url: '/public/v1/thing', remoteAddress: peer, headers })
      expect(reply.statusCode).toBe(401)
      return Number(reply.headers['x-ratelimit-remaining'])
    }
    expect(await remaining('10.0.0.1', '198.51.100.1')).toBe(99)
    // Addresses that the client itself put in front change nothing.
    expect(await remaining('10.0.0.1', '1.2.3.4, 198.51.100.1')).toBe(98)
    expect(await remaining('10.0.0.1', '198.51.100.1, 192.0.2.7')).toBe(97)
    expect(await remaining('10.0.0.1', '198.51.100.1:4711')).toBe(96)
    expect(await remaining('10.0.0.1', '::ffff:198.51.100.1')).toBe(95)
    expect(await remaining('10.0.0.1', '198.51.100.2')).toBe(99)
    // One network of IPv6 is one customer.
    expect(await remaining('10.0.0.1', '[2a00:1:2:3::1]:443')).toBe(99)
    expect(await remaining('10.0.0.1', '2a00:1:2:3:ffff::2')).toBe(98)
    expect(await remaining('10.0.0.1', 'garbage')).toBe(99)
  })
})

describe('13 spoofed proxy headers', async () => {
  const trustProxy = ['10.0.0.0/8']
  const CLIENT: Record<string, string> = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.77' }
  const SPOOFED = {
    forwarded: 'for=10.0.0.1;proto=https;host=parley.example',
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': '127.0.0.1',
    'x-forwarded-port': '443',
    'x-forwarded-ssl': 'on',
    'front-end-https': 'on',
    'x-real-ip': '127.0.0.1',
    'x-client-ip': '127.0.0.1',
    'true-client-ip': '127.0.0.1',
    'cf-connecting-ip': '127.0.0.1',
    'x-original-url': '/healthz',
    'x-http-method-override': 'POST',
  }
  const [alone, behind] = [await open({ plainHttp: 'reject' }), await open({ plainHttp: 'reject', trustProxy })]

  test.each(
    Object.entries(SPOOFED),
  )('%s from another than a trusted proxy makes no request secure', async (name, value) => {
    for (const app of [alone, behind]) {
      for (const peer of ['203.0.113.9', '127.0.0.1', '::ffff:203.0.113.9'])
        expect([peer, await statusOf(app, peer, { [name]: value })]).toEqual([peer, 403])
    }
  })

  test('through a trusted proxy they change neither the counted client nor the route', async () => {
    const answers = []
    for (const [name, value] of Object.entries(SPOOFED)) {
      const headers = { ...CLIENT, [name]: name in CLIENT ? `${value}, ${CLIENT[name]}` : value }
      const reply = await behind.inject({ url: '/public/v1/thing', remoteAddress: '10.0.0.1', headers })
      answers.push([name, reply.statusCode, Number(reply.headers['x-ratelimit-remaining'])])
    }
    expect(answers).toEqual(Object.keys(SPOOFED).map((name, at) => [name, 401, 99 - at]))
  })

  test('by themselves they give no client of an open port another count', async () => {
    const local = await open()
    const answers = []
    for (const [name, value] of Object.entries(SPOOFED)) {
      if (/^(x-)?forwarded/.test(name)) continue
      const reply = await local.inject({
        url: '/public/v1/thing',
        remoteAddress: '127.0.0.1',
        headers: { [name]: value },
      })
      answers.push(Number(reply.headers['x-ratelimit-remaining']))
    }
    expect(answers).toEqual(answers.map((_, at) => 99 - at))
  })
})

describe('on a real socket', () => {
  test('the server speaks HTTPS itself with a certificate', async () => {
    const folder = await createTestFolder()
    const { cert, key: privateKey } = createCertificate()
    const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
    await writeFile(tls.certFile, cert)
    await writeFile(tls.keyFile, privateKey)
    const app = await open({ tls, plainHttp: 'reject' })
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))

    const reply = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const request = httpsRequest(
        { host: '127.0.0.1', port, servername: 'localhost', path: '/public/v1/thing', headers: key.headers, ca: cert },
        (response) => {
          let body = ''
          response.on('data', (chunk) => {
            body += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode, body }))
        },
      )
      request.on('error', reject).end()
    })
    expect(reply).toEqual({ status: 200, body: '{"ok":true}' })
    await expect(fetch(`http://127.0.0.1:${port}/public/v1/thing`, { headers: key.headers })).rejects.toThrow()
  })

  test('413 for a body that is too large, declared or not, while it is still being sent', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const megabytes = (count: number) => Buffer.from(`"${'x'.repeat(count * 1024 * 1024)}"`)
    const post = (path: string, body: RequestInit['body'], init: Record<string, unknown> = {}) =>
      fetch(`${address}${path}`, {
        method: 'POST',
        headers: { ...key.headers, 'content-type': 'application/json' },
        body: body ?? null,
        ...init,
      })
    const declared = await post('/public/v1/thing', megabytes(2))
    expect([declared.status, codeOf(await declared.json())]).toEqual([413, 'payload_too_large'])
    expect((await post('/public/v1/large', megabytes(7))).status).toBe(200)
    expect((await post('/public/v1/large', megabytes(9))).status).toBe(413)

    const head = `POST /public/v1/thing HTTP/1.1\r\nhost: a\r\nauthorization: ${key.headers.authorization}\r\n`
    const chunk = `40000\r\n${'x'.repeat(0x40000)}\r\n`
    const chunked = await speak(
      address,
      `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(5)}`,
    )
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
    expect(chunked).toContain('payload_too_large')
  })

  test('10,000 nested arrays are answered 422 and named', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const reply = await fetch(`${address}/public/v1/thing`, {
      method: 'POST',
      headers: { ...key.headers, 'content-type': 'application/json' },
      body: `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    })
    expect(reply.status).toBe(422)
    expect(JSON.stringify(await reply.json())).toMatch(/"path":"a(\[0\])+"/)
  })

  test('bytes that are no HTTP are refused in the shape of every refusal', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const answer = await speak(address, 'NONSENSE\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"bad_request"')
    expect(answer).toMatch(/x-request-id: req_/i)
  })

  test('an anonymous client is refused without waiting for the announced body', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const head =
      'POST /public/v1/thing HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n'
    expect(await speak(address, head)).toMatch(/^HTTP\/1\.1 401 /)
  })
})

const codeOf = (body: unknown) => (body as { error: { code: string } }).error.code

/** Writes bytes to the server, and gives back the first that it answers. */
function speak(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    const socket = connectSocket(Number(port), hostname, () => socket.write(text))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
      if (!answer.includes('}')) return
      socket.destroy()
      resolve(answer)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

test('/readyz answers 503 while the database does not', async () => {
  const { connect } = await import('../../db/connect.ts')
  const away = connect('postgres://nobody@127.0.0.1:1/nothing', { max: 1 })
  const { app } = await createTestApi({
    db,
    routes: async (app) => {
      await app.register(healthRoutes({ config: OPEN, db: away, metrics: createMetrics(), mailHealth }))
    },
  })
  opened.push(app)
  const reply = await app.inject({ url: '/readyz' })
  expect([reply.statusCode, reply.json().error.code]).toEqual([503, 'service_unavailable'])
  expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200)
  await away.end({ timeout: 0 })
})

describe('settings that let no request in', () => {
  test.each([
    [{ HOST: '0.0.0.0' }, 'HOST=0.0.0.0 takes requests over plain HTTP from other machines'],
    [{ HOST: '::' }, 'HOST=:: takes requests'],
    [{ BASE_URL: 'https://api.example.com' }, 'BASE_URL is https, and neither a certificate nor a proxy is set'],
    [{ PLAIN_HTTP: 'reject' }, 'PLAIN_HTTP=reject is set without a certificate or a proxy'],
  ])('%o are reported with the remedy', (env, cause) => {
    expect(adviceOnHttps(readConfig(env))).toContain(cause)
    expect(adviceOnHttps(readConfig(env))).toMatch(/Set TRUST_PROXY to .*, or TLS_CERT_FILE and TLS_KEY_FILE$/)
  })

  test.each([
    {},
    { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.0/8' },
    { HOST: '0.0.0.0', TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' },
    { HOST: '0.0.0.0', ROLE: 'worker' },
    { BASE_URL: 'https://api.example.com', TRUST_PROXY: '127.0.0.1' },
  ])('%o are not', (env) => expect(adviceOnHttps(readConfig(env))).toBeUndefined())
})

test('a certificate that cannot be used is reported with its setting', async () => {
  const folder = await createTestFolder()
  const [own, other] = [createCertificate(), createCertificate()]
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await expect(open({ tls })).rejects.toThrow(`TLS_CERT_FILE=${tls.certFile} can't be read (ENOENT)`)
  await writeFile(tls.certFile, own.cert)
  await writeFile(tls.keyFile, other.key)
  await expect(open({ tls })).rejects.toThrow("the key has to be the certificate's")
})
