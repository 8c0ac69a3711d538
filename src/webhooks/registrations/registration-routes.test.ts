import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCompany, testCipher } from '../../../test/webhook-fixture.ts'
import { faultsOf, missing, PATH, startRegistrations, valid } from '../../../test/webhooks/registration-world.ts'

const { db, local, companyId, other, call, create, storedHeaders } = await startRegistrations()

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
