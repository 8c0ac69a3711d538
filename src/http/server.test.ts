import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { fixedClock } from '../clock.ts'
import { contactNotFound, missingRecipient, sendFailed } from '../errors.ts'
import { pageQuery, parsePage } from './paging.ts'

const { db } = await createTestDatabase()
const clock = fixedClock('2026-01-01T00:00:00Z')
const lines: Record<string, unknown>[] = []

const limits = { defaultSize: 20, maxSize: 100 }
const Item = Type.Object({
  recipient: Type.String({ minLength: 1, pattern: '^[0-9]+$' }),
  kind: Type.Union([Type.Literal('text'), Type.Literal('image')]),
  note: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
})

const { app, apiKeys } = await createTestApi({
  db,
  clock,
  onLog: (line) => lines.push(line),
  routes: (app) => {
    app.post('/public/v1/items', { schema: { body: Item } }, async (request) => ({ body: request.body }))
    app.post('/public/v1/anything', async (request) => ({ body: request.body ?? null }))
    app.post('/public/v1/big', { bodyLimit: 2048 }, async () => ({}))
    app.post(
      '/public/v1/send',
      {
        schema: { body: Item },
        config: {
          onInvalid: (faults) => (faults.some(({ path }) => path === 'recipient') ? missingRecipient() : undefined),
          onFailure: sendFailed,
        },
      },
      async () => {
        throw new Error('select secret from nowhere')
      },
    )
    app.get('/public/v1/whatsapp', { config: { permissions: ['WhatsApp'] } }, async (request) => ({
      companyId: request.caller.companyId,
    }))
    app.get('/public/v1/boom', async () => {
      throw new Error('select secret from nowhere')
    })
    app.get('/public/v1/down', async () => {
      throw Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
    })
    app.get('/public/v1/missing', async () => {
      throw contactNotFound()
    })
    app.get('/public/v1/by/:id', async (request) => ({ params: request.params }))
    app.get('/admin/v1/companies', { config: { surface: 'operator' } }, async () => [])
    app.get('/public/v1/pages', { schema: { querystring: Type.Object(pageQuery(limits)) } }, async (request) =>
      parsePage(request.query as Record<string, unknown>, limits),
    )
    app.get(
      '/public/v1/strict',
      { schema: { querystring: Type.Object({ n: Type.Integer(), all: Type.Optional(Type.Array(Type.String())) }) } },
      async (request) => request.query,
    )
    app.get('/open', { config: { surface: 'public' } }, async () => ({}))
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

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...key.headers, 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  })
const get = (url: string, headers: Record<string, string> = key.headers) => app.inject({ url, headers })

describe('every answer', () => {
  test('carries a request id of its own and the rate-limit headers, errors included', async () => {
    const first = await get('/public/v1/missing')
    const second = await get('/public/v1/missing')
    expect(first.headers['x-request-id']).toMatch(/^req_/)
    expect(first.headers['x-request-id']).not.toBe(second.headers['x-request-id'])
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '100000' })
    expect(Number(first.headers['x-ratelimit-remaining']) - Number(second.headers['x-ratelimit-remaining'])).toBe(1)
    expect(Number(first.headers['x-ratelimit-reset'])).toBeGreaterThan(clock.now().getTime() / 1000)
  })

  test('is logged in one line without address, token or query', async () => {
    lines.length = 0
    const reply = await get('/public/v1/by/someone@example.com?search=secret')
    const answered = lines.filter(({ msg }) => msg === 'request.answered')
    expect(answered).toHaveLength(1)
    expect(answered[0]).toMatchObject({
      method: 'GET',
      route: '/public/v1/by/:id',
      status: 200,
      requestId: reply.headers['x-request-id'],
      companyId: key.companyId,
      clientId: key.clientId,
      bytes: reply.rawPayload.length,
    })
    expect(JSON.stringify(lines)).not.toMatch(/someone|secret|PARLEY/)
  })
})

describe('400 or 422', () => {
  test('a body that fits goes through as it is', async () => {
    const body = { recipient: '39333', kind: 'text', note: null, extra: { a: [1, 'x', true, null] } }
    expect((await post('/public/v1/items', body)).json()).toEqual({ body })
  })

  test.each([
    ['not JSON', '{"a":'],
    ['no value', ''],
    ['a byte that is no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('400 bad_request for %s', async (_what, body) => {
    const reply = await post('/public/v1/items', body)
    expect(reply.statusCode).toBe(400)
    expect(reply.json().error.code).toBe('bad_request')
  })

  test('400 for another content type, no content type, and no body', async () => {
    for (const type of ['text/plain', 'application/xml', 'nonsense']) {
      const reply = await post('/public/v1/items', '{}', { 'content-type': type })
      expect([type, reply.statusCode, reply.json().error.code]).toEqual([type, 400, 'bad_request'])
    }
    const bare = await app.inject({ method: 'POST', url: '/public/v1/items', headers: key.headers })
    expect([bare.statusCode, bare.json().error.code]).toEqual([400, 'bad_request'])
  })

  test.each([[[]], ['"text"'], ['null'], ['7']])('400 for a body that is no object: %j', async (body) => {
    const reply = await post('/public/v1/items', body)
    expect([reply.statusCode, reply.json().error.code]).toEqual([400, 'bad_request'])
  })

  test('400 for an absent field, before 422 for a bad one, with every fault named', async () => {
    const reply = await post('/public/v1/items', { recipient: 'x', note: 'too long' })
    expect(reply.statusCode).toBe(400)
    expect(reply.json().error.code).toBe('bad_request')
    const { fields } = reply.json().error.details
    expect(fields.map((field: { path: string }) => field.path)).toEqual(['kind', 'recipient', 'note'])
    expect(fields[0]).toEqual({ path: 'kind', message: 'is required' })
  })

  test('422 validation_error names every bad field at once, a union by its best branch', async () => {
    const reply = await post('/public/v1/items', { recipient: 7, kind: 'fax', note: 'long', tags: ['a', 7] })
    expect(reply.statusCode).toBe(422)
    expect(reply.json().error).toMatchObject({ code: 'validation_error' })
    expect(reply.json().error.details.fields).toEqual([
      { path: 'recipient', message: 'must be string' },
      { path: 'kind', message: 'must be one of text, image' },
      { path: 'note', message: 'must NOT have more than 3 characters' },
      { path: 'tags[1]', message: 'must be string' },
    ])
  })

  test('a list that is too long is told so, and not looked through', async () => {
    const reply = await post('/public/v1/items', { recipient: '1', kind: 'text', tags: Array(10_000).fill(1) })
    expect(reply.json().error.details.fields).toEqual([{ path: 'tags', message: 'must NOT have more than 3 items' }])
  })

  test('a route may answer what does not fit in its own words', async () => {
    const reply = await post('/public/v1/send', { kind: 'text' })
    expect([reply.statusCode, reply.json()]).toEqual([400, { error: 'Missing recipient phone number' }])
    expect((await post('/public/v1/send', { recipient: '1', kind: 'fax' })).statusCode).toBe(422)
  })

  test('413 for a body over the limit, also where none is declared', async () => {
    const reply = await post('/public/v1/big', { text: 'x'.repeat(3000) })
    expect([reply.statusCode, reply.json().error.code]).toEqual([413, 'payload_too_large'])
    const megabyte = await post('/public/v1/anything', { text: 'x'.repeat(1024 * 1024) })
    expect(megabyte.statusCode).toBe(413)
  })

  test('an empty body is none where the route asks for none', async () => {
    expect((await post('/public/v1/anything', '')).json()).toEqual({ body: null })
  })

  test('400 for an address that cannot be decoded or holds NUL, with the headers of every answer', async () => {
    for (const url of ['/public/v1/by/%zz', '/public/v1/by/%ff', '/public/v1/by/a%00b', '/public/v1/by/a?q=%00']) {
      const reply = await get(url)
      expect([url, reply.statusCode, reply.json().error.code]).toEqual([url, 400, 'bad_request'])
      expect(reply.headers).toMatchObject({ 'x-ratelimit-limit': '100000' })
    }
    expect((await get(`/public/v1/by/${'a'.repeat(300)}%20b`)).json().params.id).toHaveLength(302)
  })
})

describe('a query string', () => {
  test('is coerced, and refused by the same rule', async () => {
    expect((await get('/public/v1/strict?n=7&all=a')).json()).toEqual({ n: 7, all: ['a'] })
    const bad = await get('/public/v1/strict?n=x')
    expect([bad.statusCode, bad.json().error.details.fields]).toEqual([
      422,
      [{ path: 'n', message: 'must be integer' }],
    ])
    expect((await get('/public/v1/strict')).statusCode).toBe(400)
  })

  test('never fails for a page', async () => {
    for (const query of ['', '?page=abc&pageSize=-1', '?page=0&pageSize=1.5', '?page=1&page=2']) {
      expect((await get(`/public/v1/pages${query}`)).json()).toEqual({ page: 1, pageSize: 20, offset: 0 })
    }
    expect((await get('/public/v1/pages?page=3&pageSize=500')).json()).toEqual({ page: 3, pageSize: 100, offset: 200 })
  })
})

describe('what goes wrong on our side', () => {
  test('500 internal_error, logged once, and without a word of the cause', async () => {
    lines.length = 0
    const reply = await get('/public/v1/boom')
    expect(reply.statusCode).toBe(500)
    expect(reply.json()).toEqual({ error: { code: 'internal_error', message: 'Something went wrong on our side' } })
    expect(lines.filter(({ msg }) => msg === 'request.failed')).toHaveLength(1)
  })

  test('500 in the words of the route', async () => {
    const reply = await post('/public/v1/send', { recipient: '1', kind: 'text' })
    expect([reply.statusCode, reply.json()]).toEqual([500, { error: 'Failed to send the message' }])
  })

  test('503 service_unavailable while the database is away', async () => {
    const reply = await get('/public/v1/down')
    expect([reply.statusCode, reply.json().error.code]).toEqual([503, 'service_unavailable'])
  })

  test('404 not_found for unknown routes and methods, counted by key or by address', async () => {
    for (const [method, url] of [
      ['GET', '/nothing'],
      ['DELETE', '/public/v1/items'],
      ['POST', '/public/v1/nothing'],
    ] as const) {
      const reply = await app.inject({ method, url, headers: { ...key.headers, 'content-type': 'application/json' } })
      expect([url, reply.statusCode, reply.json().error?.code]).toEqual([url, 404, 'not_found'])
      expect(reply.headers['x-ratelimit-limit']).toBe('100000')
    }
    const stranger = await app.inject({ url: '/nothing' })
    expect([stranger.statusCode, stranger.headers['x-ratelimit-limit']]).toEqual([404, '100'])
  })
})

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

  test('a revoked key stops within five seconds everywhere else', async () => {
    const doomed = await createTestKey(db)
    expect((await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(200)
    await db`update api_keys set revoked_at = now() where client_id = ${doomed.clientId}`
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    expect((await get('/public/v1/whatsapp', doomed.headers)).statusCode).toBe(401)
  })

  test('403 for a key without the permission', async () => {
    const email = await createTestKey(db, { permissions: ['Transactional'] })
    const reply = await get('/public/v1/whatsapp', email.headers)
    expect([reply.statusCode, reply.json().error.code]).toEqual([403, 'forbidden'])
    const browser = await createTestKey(db, { permissions: ['ContactsUpsert'] })
    expect((await get('/public/v1/missing', browser.headers)).statusCode).toBe(403)
    expect((await get('/public/v1/missing', email.headers)).statusCode).toBe(404)
  })

  test('strangers are refused before their body is read', async () => {
    const reply = await app.inject({
      method: 'POST',
      url: '/public/v1/big',
      headers: { 'content-type': 'application/json' },
      payload: 'x'.repeat(5000),
    })
    expect(reply.statusCode).toBe(401)
  })

  test('the operator has a token of his own, and no count', async () => {
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

  test('403 for a preflight from elsewhere, or to where no page has business', async () => {
    for (const [url, from] of [
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
    const known = await get('/public/v1/whatsapp', { origin })
    expect([known.statusCode, known.headers['access-control-allow-origin']]).toEqual([401, origin])
    const unknown = await get('/public/v1/whatsapp', { origin: 'https://evil.example' })
    expect([unknown.statusCode, unknown.headers['access-control-allow-origin']]).toEqual([401, undefined])
  })

  test('OPTIONS that is no preflight is an unknown route, and is not counted', async () => {
    const reply = await app.inject({ method: 'OPTIONS', url: '/public/v1/items' })
    expect([reply.statusCode, reply.headers['x-ratelimit-limit']]).toEqual([404, undefined])
  })
})
