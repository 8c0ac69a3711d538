import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { listLiveOrigins } from '../../companies/api-key-store.ts'
import { fixedClock } from '../../platform/clock.ts'
import { contactNotFound } from '../../platform/errors.ts'

const { db } = await createTestDatabase()
const clock = fixedClock('2026-01-01T00:00:00Z')

const { app, apiKeys } = await createTestApi({
  db,
  clock,
  routes: (app) => {
    app.get('/public/v1/whatsapp', { config: { permissions: ['WhatsApp'] } }, async (request) => ({
      companyId: request.caller.companyId,
    }))
    app.get('/public/v1/missing', async () => {
      throw contactNotFound()
    })
    app.post('/public/v1/big', { bodyLimit: 2048 }, async () => ({}))
    app.get('/admin/v1/companies', { config: { surface: 'operator' } }, async () => [])
  },
})
afterAll(() => app.close())

const origin = 'https://shop.example'
let key: Awaited<ReturnType<typeof createTestKey>>
let shopKey: typeof key
beforeAll(async () => {
  key = await createTestKey(db)
  shopKey = await createTestKey(db, { allowedOrigins: [origin] })
})

const get = (url: string, headers: Record<string, string> = key.headers) => app.inject({ url, headers })

describe('the credential', () => {
  const refused = { error: 'Missing API client ID or API key' }

  test('401 in one shape, whatever is wrong', async () => {
    const expired = await createTestKey(db, { expiresAt: new Date('2025-12-31T23:59:59Z') })
    const revoked = await createTestKey(db)
    await db`update api_keys set revoked_at = now() where client_id = ${revoked.clientId}`
    const orphan = await createTestKey(db)
    await db`update companies set deleted_at = now() where id = ${orphan.companyId}`
    const tokens = [
      undefined,
      '',
      'Bearer',
      `Basic ${key.token}`,
      `Bearer ${key.token}x`,
      `Bearer ${key.token.slice(0, -1)}${key.token.endsWith('a') ? 'b' : 'a'}`,
      `Bearer ${key.token.replace('PARLEY', 'parley')}`,
      `Bearer ${key.token.replace('PARLEY-', 'PARLEY-test-')}`,
      `Bearer PARLEY-${'a'.repeat(16)}-${'A'.repeat(43)}`,
      expired.headers.authorization,
      revoked.headers.authorization,
      orphan.headers.authorization,
    ]
    for (const authorization of tokens) {
      const reply = await get('/public/v1/whatsapp', authorization === undefined ? {} : { authorization })
      expect([authorization, reply.statusCode, reply.json()]).toEqual([authorization, 401, refused])
      expect(reply.headers['www-authenticate']).toBe('Bearer')
      expect(reply.headers['x-ratelimit-limit']).toBe('100')
    }
  })

  test('the scheme is read in any case', async () => {
    const reply = await get('/public/v1/whatsapp', { authorization: `bearer ${key.token}` })
    expect(reply.json()).toEqual({ companyId: key.companyId })
  })

  test('a key works until it expires', async () => {
    const brief = await createTestKey(db, { expiresAt: new Date('2026-01-01T01:00:00Z') })
    expect((await get('/public/v1/whatsapp', brief.headers)).statusCode).toBe(200)
    clock.set('2026-01-01T01:00:00Z')
    expect((await get('/public/v1/whatsapp', brief.headers)).statusCode).toBe(401)
    clock.set('2026-01-01T00:00:00Z')
  })

  test('a revoked key stops at once where it was revoked', async () => {
    const doomed = await createTestKey(db)
    expect((await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(200)
    await db`update api_keys set revoked_at = now() where client_id = ${doomed.clientId}`
    apiKeys.drop(doomed.clientId)
    expect((await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(401)
  })

  test('a revoked key stops everywhere else once what is known of it is too old', async () => {
    const doomed = await createTestKey(db)
    expect((await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(200)
    await db`update api_keys set revoked_at = now() where client_id = ${doomed.clientId}`
    await expect.poll(async () => (await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(401)
  })

  test('403 for a key without the permission', async () => {
    const email = await createTestKey(db, { permissions: ['Transactional'] })
    const reply = await get('/public/v1/whatsapp', email.headers)
    expect([reply.statusCode, reply.json().error.code]).toEqual([403, 'forbidden'])
    const browser = await createTestKey(db, { permissions: ['ContactsUpsert'] })
    expect((await get('/public/v1/missing', browser.headers)).statusCode).toBe(403)
    expect((await get('/public/v1/missing', email.headers)).statusCode).toBe(404)
  })

  test('requests without a valid key are refused before their body is read', async () => {
    const reply = await app.inject({
      method: 'POST',
      url: '/public/v1/big',
      headers: { 'content-type': 'application/json' },
      payload: 'x'.repeat(5000),
    })
    expect(reply.statusCode).toBe(401)
  })

  test('the operator has a token without a rate limit', async () => {
    const good = await get('/admin/v1/companies', { authorization: 'Bearer operator-token-for-tests-0123456789' })
    expect([good.statusCode, good.headers['x-ratelimit-limit']]).toEqual([200, undefined])
    for (const headers of [{}, key.headers, { authorization: 'Bearer operator-token-for-tests-012345678' }]) {
      const reply = await get('/admin/v1/companies', headers)
      expect([reply.statusCode, reply.json().error.code]).toEqual([401, 'unauthorized'])
      expect(reply.headers['www-authenticate']).toBe('Bearer')
    }
  })

  test('an address without a key has 100 requests, then 429; a valid key goes on from there', async () => {
    const from = (headers = {}) => app.inject({ url: '/public/v1/whatsapp', headers, remoteAddress: '127.9.9.9' })
    const replies = []
    for (let sent = 0; sent < 101; sent += 1) replies.push(await from())
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([...Array(100).fill(401), 429])
    expect(replies[99]?.headers['x-ratelimit-remaining']).toBe('0')
    const spent = replies[100]!
    expect(spent.json().error).toMatchObject({ code: 'rate_limit_exceeded' })
    expect(String(spent.json().error.retry_after)).toBe(spent.headers['retry-after'])
    expect((await from(key.headers)).statusCode).toBe(200)
  })

  test('a company has its own limit, then 429 with the time to wait', async () => {
    const small = await createTestKey(db, { rateLimitPerMinute: 3 })
    const sibling = await createTestKey(db, { companyId: small.companyId })
    const replies = [small, sibling, small, small].map(({ headers }) => get('/public/v1/whatsapp', headers))
    const answered = await Promise.all(replies)
    expect(answered.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 429])
    expect(answered.map(({ headers }) => headers['x-ratelimit-remaining']).sort()).toEqual(['0', '0', '1', '2'])
    const refused = answered.find(({ statusCode }) => statusCode === 429)!
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.json().error.retry_after).toBe(Number(refused.headers['retry-after']))
  })
})

describe('CORS', () => {
  const preflight = (url: string, from: string) =>
    app.inject({ method: 'OPTIONS', url, headers: { origin: from, 'access-control-request-method': 'POST' } })

  test('a preflight is allowed when any live key lists the origin', async () => {
    const reply = await preflight('/public/v1/items', origin)
    expect(reply.statusCode).toBe(204)
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
      vary: expect.stringContaining('Origin'),
    })
    expect(reply.headers['access-control-allow-credentials']).toBeUndefined()
    expect(reply.headers['x-ratelimit-limit']).toBeUndefined()
  })

  test('403 for a preflight from elsewhere, from the origin of a revoked key, or to where no page has business', async () => {
    const revoked = await createTestKey(db, { allowedOrigins: ['https://revoked.example'] })
    await db`update api_keys set revoked_at = now() where client_id = ${revoked.clientId}`
    const origins = await listLiveOrigins(db)
    expect([origins.includes(origin), origins.includes('https://revoked.example')]).toEqual([true, false])
    for (const [url, from] of [
      ['/public/v1/items', 'https://revoked.example'],
      ['/public/v1/items', 'https://evil.example'],
      ['/public/v1/items', 'null'],
      ['/admin/v1/companies', origin],
    ] as const) {
      const reply = await preflight(url, from)
      expect([reply.statusCode, reply.json().error.code]).toEqual([403, 'forbidden'])
      expect(reply.headers['access-control-allow-origin']).toBeUndefined()
      expect(reply.headers['x-ratelimit-limit']).toBeUndefined()
    }
  })

  test('the request itself must come from an origin of its own key', async () => {
    const own = await get('/public/v1/whatsapp', { ...shopKey.headers, origin })
    expect(own.statusCode).toBe(200)
    expect(own.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
    expect(own.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining')
    for (const headers of [
      { ...key.headers, origin },
      { ...shopKey.headers, origin: 'https://evil.example' },
    ]) {
      const reply = await get('/public/v1/whatsapp', headers)
      expect([reply.statusCode, reply.json().error.code]).toEqual([403, 'forbidden'])
      expect(reply.headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  test('a page of the service itself is no other origin', async () => {
    const reply = await get('/public/v1/whatsapp', { ...key.headers, origin: 'http://127.0.0.1:3000' })
    expect([reply.statusCode, reply.headers['access-control-allow-origin']]).toEqual([200, undefined])
  })

  test('a page may read its 401 when its origin is on any live key', async () => {
    const allowed = await get('/public/v1/whatsapp', { origin })
    expect([allowed.statusCode, allowed.headers['access-control-allow-origin']]).toEqual([401, origin])
    const unknown = await get('/public/v1/whatsapp', { origin: 'https://evil.example' })
    expect([unknown.statusCode, unknown.headers['access-control-allow-origin']]).toEqual([401, undefined])
  })

  test('OPTIONS that is no preflight is an unknown route, and is not counted', async () => {
    const reply = await app.inject({ method: 'OPTIONS', url: '/public/v1/items' })
    expect([reply.statusCode, reply.headers['x-ratelimit-limit']]).toEqual([404, undefined])
  })
})
