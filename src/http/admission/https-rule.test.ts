import { describe, expect, test } from 'vitest'
import { startHttps } from '../../../test/https-world.ts'
import { readConfig } from '../../platform/settings/config.ts'
import { adviceOnHttps } from '../server/request-head.ts'

const { open, get, statusOf } = await startHttps()

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
