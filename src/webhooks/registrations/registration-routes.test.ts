import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createCaller, createCompany, testCipher } from '../../../test/webhook-fixture.ts'
import { updateCompany } from '../../companies/company.ts'
import { registrationRoutes } from './registration-routes.ts'

const { db } = await createTestDatabase({ mirrors: true })
const callAs = createCaller(db)
const PATH = '/public/v1/webhooks/registrations'
const valid = { name: 'CRM', url: 'https://hooks.example.com/in?x=1', events: ['whatsapp.message.received'] }
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

let app: FastifyInstance
let local: FastifyInstance
let companyId: number
let other: number

beforeAll(async () => {
  const start = async (allowPrivate: boolean) => {
    const deps = { db, cipher: testCipher, rules: { allowPrivate, serviceName: 'Acme' }, onChanged: async () => {} }
    return (await createTestApi({ db, routes: (on) => void on.register(registrationRoutes(deps)) })).app
  }
  app = await start(false)
  local = await start(true)
  companyId = await createCompany(db)
  await updateCompany(db, companyId, { registrationLimit: 10_000 })
  other = await createCompany(db, 'Other')
})
afterAll(async () => {
  await app.close()
  await local.close()
})

const call = async (method: Method, path: string, body?: object, company = companyId, on = app) => {
  const answer = await callAs(on, company, method, path, body)
  return { status: answer.statusCode, body: answer.json() }
}
const create = (changes: object = {}, company = companyId, on = app) =>
  call('POST', PATH, { ...valid, ...changes }, company, on)
const faultsOf = ({ body }: { body: { error: { details: { fields: { path: string }[] } } } }) =>
  body.error.details.fields.map(({ path }) => path).sort()
const storedHeaders = async (id: number): Promise<object[]> => {
  const [row] = await db<{ staticHeaders: string }[]>`
    select static_headers from registrations where company_id = ${companyId} and id = ${id}`
  return JSON.parse(testCipher.decrypt(row!.staticHeaders))
}
const untilOneWaits = () =>
  expect
    .poll(async () => {
      const [row] = await db<[{ waiting: number }]>`
        select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return row.waiting
    })
    .toBe(1)
const missing = { status: 404, body: { message: 'Webhook registration not found' } }

describe('creating a registration', () => {
  it('answers 201 with the bare record, active, without the secret', async () => {
    const headers = [
      { key: 'Authorization', value: 'Bearer x' },
      { key: '__proto__', value: 'odd' },
    ]
    const { status, body } = await create({ secret: 'sixteen letters!', headers })
    expect(status).toBe(201)
    expect(body).toEqual({
      channelIds: null,
      ...valid,
      id: expect.any(Number),
      status: 'active',
      method: 'POST',
      headers: Object.fromEntries(headers.map(({ key }) => [key, '…'])),
      hasSecret: true,
      ordered: false,
      pausedReason: null,
      pausedAt: null,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      health: {
        ...{ lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0 },
        ...{ waiting: 0, deadLettered24h: 0 },
      },
    })
    const [row] = await db`select secret from registrations where company_id = ${companyId} and id = ${body.id}`
    expect(row!.secret).not.toContain('sixteen')
    expect(testCipher.decrypt(row!.secret)).toBe('sixteen letters!')
  })

  it('fills in what is not given and collapses events named twice', async () => {
    const event = valid.events[0]
    const { body } = await create({ events: [event, event] })
    expect(body).toMatchObject({ method: 'POST', headers: {}, hasSecret: false, events: [event] })
    expect((await create({ secret: null })).body.hasSecret).toBe(false)
    expect((await create({ method: 'GET' })).body.method).toBe('GET')
  })

  it.each([80, 443, 1024, 8443, 65_535])('accepts a URL with port %i', async (port) => {
    expect((await create({ url: `https://hooks.example.com:${port}/` })).status).toBe(201)
  })

  it('keeps an earlier URL with another port through other changes, and refuses it as a new value', async () => {
    const { body } = await create()
    const url = 'https://hooks.example.com:25/'
    await db`update registrations set url = ${url} where company_id = ${companyId} and id = ${body.id}`
    expect(await call('PUT', `${PATH}/${body.id}`, { name: 'Renamed', url })).toMatchObject({
      status: 200,
      body: { url },
    })
    const refused = await call('PUT', `${PATH}/${body.id}`, { url: 'https://hooks.example.com:26/' })
    expect([refused.status, faultsOf(refused)]).toEqual([422, ['url']])
  })

  it.each([['name'], ['url'], ['events']])('answers 400 without %s', async (field) => {
    const { status, body } = await create({ [field]: undefined })
    expect([status, body.error.code]).toEqual([400, 'bad_request'])
    expect(body.error.details.fields).toContainEqual(expect.objectContaining({ path: field }))
  })

  it.each<[string, object, string]>([
    ['an empty name', { name: '' }, 'name'],
    ['a name that is no text', { name: 7 }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(201) }, 'name'],
    ['plain http', { url: 'http://hooks.example.com/' }, 'url'],
    ['no URL', { url: 'hooks' }, 'url'],
    ['a private address', { url: 'https://10.0.0.1/' }, 'url'],
    ['an address in disguise', { url: 'https://2130706433/' }, 'url'],
    ['localhost', { url: 'https://localhost:3000/' }, 'url'],
    ['the metadata service', { url: 'https://169.254.169.254/latest/' }, 'url'],
    ['the port of SMTP', { url: 'https://hooks.example.com:25/' }, 'url'],
    ['the highest reserved port', { url: 'https://hooks.example.com:1023/' }, 'url'],
    ['port 0', { url: 'https://hooks.example.com:0/' }, 'url'],
    ['credentials in the URL', { url: 'https://me:pw@hooks.example.com/' }, 'url'],
    ['a fragment', { url: 'https://hooks.example.com/#x' }, 'url'],
    ['a URL that is too long', { url: `https://hooks.example.com/${'x'.repeat(2048)}` }, 'url'],
    ['no events', { events: [] }, 'events'],
    ['an unknown event', { events: ['whatsapp.message.sent'] }, 'events[0]'],
    ['events that are no list', { events: 'whatsapp.message.received' }, 'events'],
    ['a short secret', { secret: 'fifteen letters' }, 'secret'],
    ['a long secret', { secret: 'x'.repeat(257) }, 'secret'],
    ['another method', { method: 'PUT' }, 'method'],
    ['a reserved header in an object', { headers: { Host: 'b' } }, 'headers.Host'],
    ['a header in an object that would keep a stored one', { headers: { a: '…' } }, 'headers.a'],
    ['too many headers', { headers: Array.from({ length: 21 }, (_, n) => ({ key: `h${n}`, value: '' })) }, 'headers'],
    ['a header name that is no token', { headers: [{ key: 'a b', value: '' }] }, 'headers[0].key'],
    ['a header value with a line end', { headers: [{ key: 'a', value: 'x\r\ny: z' }] }, 'headers[0].value'],
    ['a header value that would keep a stored one', { headers: [{ key: 'a', value: '…' }] }, 'headers[0].value'],
    ['a header value beyond Latin-1', { headers: [{ key: 'a', value: '\u0100' }] }, 'headers[0].value'],
    ['a header value that is too long', { headers: [{ key: 'a', value: 'x'.repeat(4097) }] }, 'headers[0].value'],
    ['a reserved header', { headers: [{ key: 'Content-Type', value: 'text/plain' }] }, 'headers[0].key'],
    ["one of the service's headers", { headers: [{ key: 'x-ACME-signature', value: 'x' }] }, 'headers[0].key'],
    ['a header of the second signature', { headers: [{ key: 'Webhook-Id', value: 'x' }] }, 'headers[0].key'],
    [
      'a header twice',
      {
        headers: [
          { key: 'a', value: '1' },
          { key: 'A', value: '2' },
        ],
      },
      'headers[1].key',
    ],
  ])('answers 422 to %s and names it', async (_, changes, path) => {
    const { status, body } = await create(changes)
    expect([status, body.error.code]).toEqual([422, 'validation_error'])
    expect(faultsOf({ body })).toEqual([path])
  })

  it('names all fields at fault at once, of shape and of rule', async () => {
    const headers = [{ key: 'Host', value: 'a\nb' }]
    const answer = await create({
      name: '',
      url: 'https://127.0.0.1/',
      events: ['x'],
      secret: 'short',
      method: 'X',
      headers,
    })
    expect(answer.status).toBe(422)
    expect(faultsOf(answer)).toEqual([
      'events[0]',
      'headers[0].key',
      'headers[0].value',
      'method',
      'name',
      'secret',
      'url',
    ])
  })

  it('accepts every header that RFC 9110 allows and is not reserved', async () => {
    const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,30}$/).map((text) => `z${text}`)
    const value = fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,60}$/)
    await fc.assert(
      fc.asyncProperty(name, value, async (key, text) => {
        const { status, body } = await create({ headers: [{ key, value: text }] })
        expect(status).toBe(201)
        expect(body.headers).toEqual({ [key]: '…' })
        expect(await storedHeaders(body.id)).toEqual([{ key, value: text }])
      }),
      { numRuns: 50 },
    )
  })

  it('accepts loopback and plain http where private addresses are allowed, nothing else more', async () => {
    for (const url of ['http://127.0.0.1:3001/in', 'http://localhost:3001/', 'https://10.0.0.1/'])
      expect((await create({ url }, companyId, local)).status).toBe(201)
    expect((await create({ url: 'ftp://localhost/' }, companyId, local)).status).toBe(422)
    expect((await create({ url: 'http://a:b@localhost/' }, companyId, local)).status).toBe(422)
  })
})

describe('reading registrations', () => {
  it('lists the living ones of the company as a bare array in the order of their ids', async () => {
    const company = await createCompany(db)
    expect(await call('GET', PATH, undefined, company)).toEqual({ status: 200, body: [] })
    const replies = [await create({}, company), await create({}, company), await create({}, company)]
    await call('DELETE', `${PATH}/${replies[1]!.body.id}`, undefined, company)
    const health = { lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0, waiting: 0, deadLettered24h: 0 }
    const kept = [replies[0]!.body, replies[2]!.body].map((body) => ({ ...body, health }))
    expect(await call('GET', PATH, undefined, company)).toEqual({ status: 200, body: kept })
  })

  it('answers one, and 404 for what is missing, foreign, deleted or no id', async () => {
    const { body } = await create()
    expect(await call('GET', `${PATH}/${body.id}`)).toEqual({ status: 200, body })
    const deleted = await create()
    await call('DELETE', `${PATH}/${deleted.body.id}`)
    for (const id of ['999999999', 'x', '0', '-1', '1.5', '99999999999999999999', deleted.body.id])
      expect(await call('GET', `${PATH}/${id}`)).toEqual(missing)
    expect(await call('GET', `${PATH}/${body.id}`, undefined, other)).toEqual(missing)
  })
})

describe('updating a registration', () => {
  it('changes only what is sent and answers the updated record', async () => {
    const { body: before } = await create({ secret: 'sixteen letters!', headers: [{ key: 'A', value: '1' }] })
    const url = `${PATH}/${before.id}`
    const changes: [object, object][] = [
      [{}, {}],
      [{ name: 'New' }, { name: 'New' }],
      [{ url: 'https://other.example/' }, { url: 'https://other.example/' }],
      [{ status: 'inactive' }, { status: 'inactive' }],
      [{ status: 'active' }, { status: 'active' }],
      [{ method: 'GET' }, { method: 'GET' }],
      [{ ordered: true }, { ordered: true }],
      [{ headers: [{ key: 'B', value: '2' }] }, { headers: { B: '…' } }],
      [{ headers: [] }, { headers: {} }],
      [{ secret: null }, { hasSecret: false }],
      [{ secret: 'another sixteen letters' }, { hasSecret: true }],
    ]
    let expected = before
    for (const [change, effect] of changes) {
      expected = { ...expected, ...effect }
      expect(await call('PUT', url, change)).toEqual({ status: 200, body: expected })
    }
    expect(await call('GET', url)).toEqual({ status: 200, body: expected })
  })

  it('keeps static headers encrypted, answers their names alone, and forgets those that were replaced', async () => {
    const { body } = await create({ headers: [{ key: 'Authorization', value: 'Bearer of-the-receiver' }] })
    expect(body.headers).toEqual({ Authorization: '…' })
    const stored = async () => {
      const [row] = await db<{ everything: string; staticHeaders: string | null }[]>`
        select registrations::text as everything, static_headers from registrations where company_id > 0 and id = ${body.id}
      `
      return row!
    }
    const { everything, staticHeaders } = await stored()
    expect(everything).not.toContain('of-the-receiver')
    expect(JSON.parse(testCipher.decrypt(staticHeaders!))).toEqual([
      { key: 'Authorization', value: 'Bearer of-the-receiver' },
    ])
    expect((await call('PUT', `${PATH}/${body.id}`, { name: 'Same' })).body.headers).toEqual(body.headers)
    expect((await call('GET', `${PATH}/${body.id}`)).body.headers).toEqual(body.headers)
    await call('PUT', `${PATH}/${body.id}`, { headers: [] })
    expect((await stored()).staticHeaders).toBeNull()
  })

  it('keeps the stored value of a header that is sent as it was answered', async () => {
    const { body } = await create({
      headers: [
        { key: 'Authorization', value: 'Bearer 1' },
        { key: 'X-Gone', value: 'x' },
      ],
    })
    const changed = await call('PUT', `${PATH}/${body.id}`, {
      headers: [
        { key: 'authorization', value: '…' },
        { key: 'X-New', value: 'y' },
      ],
    })
    expect(changed).toMatchObject({ status: 200, body: { headers: { authorization: '…', 'X-New': '…' } } })
    expect(await storedHeaders(body.id)).toEqual([
      { key: 'authorization', value: 'Bearer 1' },
      { key: 'X-New', value: 'y' },
    ])
  })

  it('refuses to keep the value of a header that is not stored, and changes nothing', async () => {
    const { body } = await create({ headers: [{ key: 'A', value: '1' }] })
    const headers = [
      { key: 'A', value: '2' },
      { key: 'B', value: '…' },
    ]
    const refused = await call('PUT', `${PATH}/${body.id}`, { name: 'New', headers })
    expect([refused.status, faultsOf(refused)]).toEqual([422, ['headers[1].value']])
    expect(await call('GET', `${PATH}/${body.id}`)).toEqual({ status: 200, body })
    expect(await storedHeaders(body.id)).toEqual([{ key: 'A', value: '1' }])
    expect(await call('PUT', `${PATH}/987654321`, { headers })).toEqual(missing)
  })

  it('keeps the value that another change has just stored', async () => {
    const { body } = await create({ headers: [{ key: 'A', value: 'old' }] })
    const gate = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const other = db.begin(async (tx) => {
      const staticHeaders = testCipher.encrypt(JSON.stringify([{ key: 'A', value: 'new' }]))
      await tx`
        update registrations set static_headers = ${staticHeaders} where company_id = ${companyId} and id = ${body.id}`
      written.resolve()
      await gate.promise
    })
    await written.promise
    const changed = call('PUT', `${PATH}/${body.id}`, { headers: [{ key: 'A', value: '…' }] })
    await untilOneWaits()
    gate.resolve()
    await other
    expect((await changed).status).toBe(200)
    expect(await storedHeaders(body.id)).toEqual([{ key: 'A', value: 'new' }])
  })

  it('replaces the secret', async () => {
    const { body } = await create({ secret: 'sixteen letters!' })
    await call('PUT', `${PATH}/${body.id}`, { secret: 'the second secret' })
    const [row] = await db`select secret from registrations where company_id = ${companyId} and id = ${body.id}`
    expect(testCipher.decrypt(row!.secret)).toBe('the second secret')
  })

  it('answers 422 to values that are not allowed, and changes nothing', async () => {
    const { body } = await create()
    const bad = {
      name: '',
      url: 'https://[::1]/',
      events: [],
      status: 'paused',
      secret: 'short',
      headers: [{ key: 'Te', value: '' }],
    }
    const answer = await call('PUT', `${PATH}/${body.id}`, bad)
    expect(answer.status).toBe(422)
    expect(faultsOf(answer)).toEqual(['events', 'headers[0].key', 'name', 'secret', 'status', 'url'])
    expect((await call('GET', `${PATH}/${body.id}`)).body).toEqual(body)
  })

  it("does not reach another company's", async () => {
    const { body } = await create()
    expect(await call('PUT', `${PATH}/${body.id}`, { name: 'Mine' }, other)).toEqual(missing)
    expect((await call('GET', `${PATH}/${body.id}`)).body.name).toBe(valid.name)
  })
})

describe('deleting a registration', () => {
  it('answers success, once, and only to its company', async () => {
    const { body } = await create({ secret: 'sixteen letters!' })
    expect(await call('DELETE', `${PATH}/${body.id}`, undefined, other)).toEqual(missing)
    expect(await call('DELETE', `${PATH}/${body.id}`)).toEqual({ status: 200, body: { success: true } })
    expect(await call('DELETE', `${PATH}/${body.id}`)).toEqual(missing)
    expect(await call('PUT', `${PATH}/${body.id}`, { status: 'active' })).toEqual(missing)
    const [row] = await db`select secret from registrations where company_id = ${companyId} and id = ${body.id}`
    expect(row!.secret).toBeNull()
  })
})
