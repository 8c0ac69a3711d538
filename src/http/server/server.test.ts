import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApi, createTestKey } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { fixedClock } from '../../platform/clock.ts'
import { contactNotFound, missingRecipient, sendFailed } from '../../platform/errors.ts'
import { diskFull } from '../../platform/files/writable-folder.ts'
import { pageQuery, parsePage } from '../paging/paging.ts'

const { db } = await createTestDatabase()
const clock = fixedClock('2026-01-01T00:00:00Z')
const lines: Record<string, unknown>[] = []

const limits = { defaultSize: 20, maxSize: 100 }
const Item = Type.Object({
  recipient: Type.String({ minLength: 1, pattern: '^[0-9]+$' }),
  kind: Type.Union([Type.Literal('text'), Type.Literal('image')]),
  note: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
  extra: Type.Optional(Type.Object({}, { additionalProperties: true })),
})

const { app } = await createTestApi({
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
    app.get('/public/v1/boom', async () => {
      throw new Error('select secret from nowhere')
    })
    app.get('/public/v1/taken', async () => {
      await db`insert into service_secrets values ('ada@example.com', 'x'), ('ada@example.com', 'y')`
    })
    app.get('/public/v1/down', async () => {
      throw Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
    })
    app.get('/public/v1/full', async () => {
      throw diskFull('/data/media', undefined)
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

let key: Awaited<ReturnType<typeof createTestKey>>
beforeAll(async () => {
  key = await createTestKey(db)
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

  test('a list that is too long is refused as such, and not examined', async () => {
    const reply = await post('/public/v1/items', { recipient: '1', kind: 'text', tags: Array(10_000).fill(1) })
    expect(reply.json().error.details.fields).toEqual([{ path: 'tags', message: 'must NOT have more than 3 items' }])
  })

  test('a route may answer an invalid request with an error of its own', async () => {
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

describe('an internal error', () => {
  test('500 internal_error, logged once, and without a word of the cause', async () => {
    lines.length = 0
    const reply = await get('/public/v1/boom')
    expect(reply.statusCode).toBe(500)
    expect(reply.json()).toEqual({ error: { code: 'internal_error', message: 'Something went wrong on our side' } })
    expect(lines.filter(({ msg }) => msg === 'request.failed')).toHaveLength(1)
  })

  test('of the database is logged without the values of the row', async () => {
    lines.length = 0
    expect((await get('/public/v1/taken')).statusCode).toBe(500)
    expect(lines.filter(({ msg }) => msg === 'request.failed')).toMatchObject([{ err: { code: '23505' } }])
    expect(JSON.stringify(lines)).not.toContain('ada@example.com')
  })

  test('500 with the text of the route', async () => {
    const reply = await post('/public/v1/send', { recipient: '1', kind: 'text' })
    expect([reply.statusCode, reply.json()]).toEqual([500, { error: 'Failed to send the message' }])
  })

  test('503 service_unavailable while the database is away', async () => {
    const reply = await get('/public/v1/down')
    expect([reply.statusCode, reply.json().error.code]).toEqual([503, 'service_unavailable'])
  })

  test('503 service_unavailable while the disk for files is full', async () => {
    const reply = await get('/public/v1/full')
    expect([reply.statusCode, reply.json().error.code]).toEqual([503, 'service_unavailable'])
    expect(reply.json().error.message).toContain('The disk for files is full')
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
    const anonymous = await app.inject({ url: '/nothing' })
    expect([anonymous.statusCode, anonymous.headers['x-ratelimit-limit']]).toEqual([404, '100'])
  })
})
