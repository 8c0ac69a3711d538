import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestCompany } from '../../test/api.ts'
import { caller, contactsApp, type KeyOf, type TestCaller } from '../../test/contacts-app.ts'
import { createTestDatabase } from '../../test/database.ts'
import type { Pool } from '../db/connect.ts'
import { listConsentChanges } from './consent/consent-store.ts'

let db: Pool
let app: FastifyInstance
let keyOf: KeyOf
let companyId: number

beforeAll(async () => {
  const database = await createTestDatabase({ mirrors: true })
  db = database.db
  ;({ app, keyOf } = await contactsApp(db))
})

const newCompany = () => createTestCompany(db)

beforeAll(async () => {
  companyId = await newCompany()
})

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

async function call(method: Method, url: string, body?: unknown, as: TestCaller = caller(companyId)) {
  const response = await app.inject({
    method,
    url: `/public/v1${url}`,
    headers: { ...(await keyOf(as)).headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.statusCode, body: response.json(), text: response.body }
}

const upsert = async (body: unknown, as?: TestCaller) => (await call('POST', '/contacts', body, as)).body.data

async function form(type: 'url' | 'multipart', entries: [string, string | Blob][], as: TestCaller = caller(companyId)) {
  const data = type === 'url' ? new URLSearchParams() : new FormData()
  for (const [name, value] of entries) data.append(name, value as string)
  const request = new Request('http://test/', { method: 'POST', body: data })
  const response = await app.inject({
    method: 'POST',
    url: '/public/v1/contacts',
    headers: { ...(await keyOf(as)).headers, 'content-type': request.headers.get('content-type')! },
    payload: Buffer.from(await request.arrayBuffer()),
  })
  return { status: response.statusCode, body: response.json() }
}

describe('200', () => {
  test('a new contact is answered with the whole record', async () => {
    const { status, body } = await call('POST', '/contacts', {
      email: 'Grace@Example.com',
      phone: '+39 (333) 123-45.67',
      firstName: 'Grace',
      tags: ['vip'],
      customFields: { plan: 'gold' },
      marketingConsent: { email: true },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [
        {
          id: expect.any(Number),
          email: 'Grace@Example.com',
          phone: '+393331234567',
          first_name: 'Grace',
          last_name: null,
          status: 'active',
          source: 'API',
          source_type: 'database',
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          custom_fields: { plan: 'gold' },
          tags: ['vip'],
          marketing_consent: { email: true, whatsapp: null },
          company: companyId,
          deleted: false,
          external_id: null,
          external_connection_id: null,
        },
      ],
    })
  })

  test('an email matches in any letter case, and an update changes only what it carries', async () => {
    const [first] = await upsert({ email: 'lin@x.org', firstName: 'Lin', customFields: { a: 1, b: 2 }, tags: ['t'] })
    const [second] = await upsert({ email: 'LIN@X.org', customFields: { b: null, c: { d: [1] } } })
    expect(second).toMatchObject({
      id: first.id,
      email: 'LIN@X.org',
      first_name: 'Lin',
      tags: ['t'],
      custom_fields: { a: 1, c: { d: [1] } },
    })
    expect(second.custom_fields).not.toHaveProperty('b')
  })

  test('an unknown email with a known phone renames the oldest contact of that phone', async () => {
    const [first] = await upsert({ email: 'one@p.org', phone: '+4479000001' })
    const [second] = await upsert({ email: 'two@p.org', phone: '+44 79 000001' })
    expect(second).toMatchObject({ id: first.id, email: 'two@p.org' })
    expect((await call('GET', '/contacts/by-email/one@p.org')).status).toBe(404)
  })

  test.each([
    ['Brazil', '5511987654321', '551187654321'],
    ['Mexico', '5215512345678', '525512345678'],
    ['Argentina', '5491112345678', '541112345678'],
  ])('%s: both ways of writing a number are one person, and the number kept is the one given', async (_, one, other) => {
    const [first] = await upsert({ phone: one })
    const [second] = await upsert({ phone: `+${other}` })
    const [third] = await upsert({ email: `${one}@x.org`, phone: one })
    expect([second.id, second.phone]).toEqual([first.id, `+${other}`])
    expect([third.id, third.phone]).toEqual([first.id, `+${one}`])
  })

  test('Brazil: a mobile number and a landline that differ by the ninth digit are two contacts', async () => {
    const [mobile] = await upsert({ phone: '5511934567254' })
    const [landline] = await upsert({ phone: '551134567254' })
    expect(landline.id).not.toBe(mobile.id)
  })

  test('an array applies in order: a later item meets what an earlier one made', async () => {
    const data = await upsert([
      { email: 'r1@a.org', phone: '+3900000001' },
      { email: 'other@a.org' },
      { phone: '+3900000001', firstName: 'R' },
      { email: 'r2@a.org', phone: '+3900000001' },
      { email: 'r1@a.org' },
    ])
    const [a, b, c, d, e] = data
    expect([c.id, d.id]).toEqual([a.id, a.id])
    expect(new Set([a.id, b.id, e.id]).size).toBe(3)
    expect([c.email, d.email, d.first_name, e.phone]).toEqual(['r1@a.org', 'r2@a.org', 'R', null])
  })

  test('a thousand contacts go in one call, and the same again changes them', async () => {
    const items = Array.from({ length: 1000 }, (_, i) => ({ email: `bulk${i}@b.org`, phone: `+1212${1000000 + i}` }))
    const first = await upsert(items)
    const second = await upsert(items.toReversed())
    expect(first).toHaveLength(1000)
    expect(second.map((contact: { id: number }) => contact.id).toReversed()).toEqual(
      first.map((contact: { id: number }) => contact.id),
    )
  })

  test('read, update, delete', async () => {
    const [{ id }] = await upsert({ email: 'life@x.org', phone: '+4400000777' })
    expect((await call('GET', `/contacts/${id}`)).body.data.email).toBe('life@x.org')
    expect((await call('GET', '/contacts/by-email/LIFE%40x.org')).body.data.id).toBe(id)
    const updated = await call('PUT', `/contacts/${id}`, { email: 'life2@x.org', lastName: 'Long' })
    expect(updated.body.data).toMatchObject({ id, email: 'life2@x.org', last_name: 'Long', phone: '+4400000777' })
    expect((await call('PUT', `/contacts/${id}`, { phone: null })).body.data.phone).toBeNull()
    expect(await call('DELETE', `/contacts/${id}`)).toMatchObject({ status: 200, body: { success: true } })
    for (const url of [`/contacts/${id}`, '/contacts/by-email/life2@x.org']) {
      expect(await call('GET', url)).toMatchObject({ status: 404, body: { message: 'Contact not found' } })
    }
    const [again] = await upsert({ email: 'life2@x.org' })
    expect(again.id).not.toBe(id)
  })

  test('a phone means its oldest living contact; after deletion the next', async () => {
    const phone = '+4400009999'
    const [one] = await upsert({ email: 'o1@x.org', phone })
    const [two] = await upsert({ email: 'o2@x.org', phone: '+4400009998' })
    await upsert({ email: 'o2@x.org', phone })
    expect((await upsert({ phone }))[0].id).toBe(one.id)
    await call('DELETE', `/contacts/${one.id}`)
    expect((await upsert({ phone }))[0].id).toBe(two.id)
    await call('PUT', `/contacts/${two.id}`, { phone: null })
    const [three] = await upsert({ phone })
    expect([one.id, two.id]).not.toContain(three.id)
    expect((await upsert({ phone: '+4400009998' }))[0].id).not.toBe(two.id)
  })

  test('only changes of consent are kept as history, with the key that made them', async () => {
    const [{ id }] = await upsert({ email: 'c@x.org', marketingConsent: { email: true } })
    await upsert({ email: 'c@x.org', marketingConsent: { email: true, whatsapp: false } })
    await upsert({ email: 'c@x.org' })
    const [last] = await upsert({ email: 'c@x.org', marketingConsent: { email: false } })
    expect(last.marketing_consent).toEqual({ email: false, whatsapp: false })
    const changes = await listConsentChanges(db, companyId, id)
    const { clientId } = await keyOf(caller(companyId))
    expect(changes.map(({ channel, value, clientId, source }) => [channel, value, clientId, source])).toEqual([
      ['email', true, clientId, 'api'],
      ['whatsapp', false, clientId, 'api'],
      ['email', false, clientId, 'api'],
    ])
  })

  test('a null member of an upsert matches no contact', async () => {
    const [contact] = await upsert({ email: null, phone: '+4400012121', firstName: null })
    expect(contact).toMatchObject({ email: null, first_name: null })
  })
})

describe('forms', () => {
  const entries: [string, string][] = [
    ['email', 'form@x.org'],
    ['phone', ''],
    ['firstName', 'Zoë'],
    ['tags', 'a'],
    ['tags', 'b'],
    ['customFields.plan', 'gold'],
    ['customFields.a.b', '1'],
    ['customFields.quo"te', 'q'],
    ['customFields.🙂', 'smile'],
    ['customFields.__proto__', 'p'],
    ['marketingConsent.email', '1'],
    ['marketingConsent.whatsapp', 'false'],
    ['unknown', 'x'],
  ]
  test.each(['url', 'multipart'] as const)('%s: as the same contact in JSON', async (type) => {
    const { status, body } = await form(type, entries)
    expect(status).toBe(200)
    expect(body.data[0]).toMatchObject({
      email: 'form@x.org',
      first_name: 'Zoë',
      tags: ['a', 'b'],
      marketing_consent: { email: true, whatsapp: false },
    })
    expect(Object.entries(body.data[0].custom_fields).sort()).toEqual(
      [
        ['plan', 'gold'],
        ['a.b', '1'],
        ['quo"te', 'q'],
        ['🙂', 'smile'],
        ['__proto__', 'p'],
      ].sort(),
    )
  })

  test('400 for a file', async () => {
    const { status, body } = await form('multipart', [
      ['email', 'f@x.org'],
      ['photo', new Blob(['x'.repeat(10_000)])],
    ])
    expect([status, body.error.code]).toEqual([400, 'bad_request'])
  })

  test('422 for a consent that is neither true nor false', async () => {
    const { status, body } = await form('url', [
      ['email', 'f@x.org'],
      ['marketingConsent.email', 'yes'],
    ])
    expect([status, body.error.details.fields[0].path]).toEqual([422, 'marketingConsent.email'])
  })

  test('400 for a multipart form that breaks off, and for another content type', async () => {
    for (const [type, payload] of [
      ['multipart/form-data; boundary=x', '--x\r\ncontent-disposition: form-data; name="email"\r\n\r\na@b.org'],
      ['text/csv', 'email\na@b.org'],
    ] as const) {
      const response = await app.inject({
        method: 'POST',
        url: '/public/v1/contacts',
        headers: { ...(await keyOf(caller(companyId))).headers, 'content-type': type },
        payload,
      })
      expect(response.statusCode).toBe(400)
    }
  })
})

describe('refusals', () => {
  test.each([
    [{}],
    [{ email: '', phone: '' }],
    [{ email: null }],
    [{ firstName: 'x' }],
    ['"text"'],
    ['null'],
    ['7'],
  ])('400 for %j, which names nobody', async (body) => {
    const reply = await call('POST', '/contacts', body)
    expect([reply.status, reply.body.error.code]).toEqual([400, 'bad_request'])
  })

  test('400 when there is no body at all', async () => {
    expect((await call('POST', '/contacts')).status).toBe(400)
    expect((await call('PUT', '/contacts/1')).status).toBe(400)
  })

  test.each([
    'no-at',
    'a@b',
    'a b@c.org',
    'a@b.org\r\nBcc: x@y.org',
    'a@b@c.org',
    `${'a'.repeat(65)}@b.org`,
    '@b.org',
  ])('422 Invalid email format for %j, 400 in the lookup', async (email) => {
    const { status, body } = await call('POST', '/contacts', { email })
    expect([status, body.error.code, body.error.message]).toEqual([422, 'validation_error', 'Invalid email format'])
    const lookup = await call('GET', `/contacts/by-email/${encodeURIComponent(email)}`)
    expect([lookup.status, lookup.body.error]).toEqual([400, { code: 'bad_request', message: 'Invalid email format' }])
  })

  test.each(['123', 'abc', '+0123456789', '1234567890123456', '39 333 x'])('422 for the phone %j', async (phone) => {
    const { status, body } = await call('POST', '/contacts', { email: 'p@x.org', phone })
    expect([status, body.error.code]).toEqual([422, 'invalid_phone_number'])
  })

  test.each([
    ['source_type', 'service'],
    ['status', 'x'.repeat(65)],
    ['source', 'x'.repeat(65)],
    ['firstName', 'x'.repeat(201)],
    ['tags', ['x'.repeat(101)]],
    ['tags', Array.from({ length: 101 }, String)],
    ['tags', 'a'],
    ['email', 5],
    ['customFields', []],
    ['customFields', { ['k'.repeat(101)]: 1 }],
    ['customFields', { '': 1 }],
    ['customFields', { a: 'x'.repeat(65 * 1024) }],
    ['customFields', Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`k${i}`, i]))],
    ['customFields', JSON.parse(`${'['.repeat(50)}${']'.repeat(50)}`)],
    ['marketingConsent', { email: 'true' }],
    ['firstName', 'a\u0000b'],
    ['firstName', 'a\ud800b'],
    ['customFields', { a: { b: 'x\u0000' } }],
    ['customFields', { 'k\udc00': 1 }],
  ])('422 naming %s', async (name, value) => {
    const { status, body } = await call('POST', '/contacts', { email: 'v@x.org', [name]: value })
    expect([status, body.error.code]).toEqual([422, 'validation_error'])
    expect(body.error.details.fields[0].path.split(/[.[]/)[0]).toBe(name)
  })

  test('a number beyond doubles is named', async () => {
    const { status } = await call('POST', '/contacts', '{"email":"v@x.org","customFields":{"n":1e999}}')
    expect(status).toBe(422)
  })

  test('NUL and surrogates are refused by their names', async () => {
    const nul = await call('POST', '/contacts', { email: 'v@x.org', customFields: { a: 'x\u0000' } })
    const surrogate = await call('POST', '/contacts', { email: 'v@x.org', customFields: { a: '\ud800' } })
    expect(nul.body.error.details.fields).toEqual([{ path: 'customFields.a', message: expect.stringContaining('NUL') }])
    expect(surrogate.body.error.details.fields[0].message).toContain('surrogate')
  })

  test('422 when custom fields outgrow their limits together with those already kept', async () => {
    const half = (prefix: string) => Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`${prefix}${i}`, i]))
    await upsert({ email: 'full@x.org', customFields: half('a') })
    const { status, body } = await call('POST', '/contacts', { email: 'full@x.org', customFields: half('b') })
    expect([status, body.error.details.fields[0].path]).toEqual([422, 'customFields'])
    const [{ id }] = await upsert({ email: 'full@x.org' })
    expect((await call('PUT', `/contacts/${id}`, { customFields: half('b') })).status).toBe(422)
    const other = { ...half('b'), ...Object.fromEntries(Object.keys(half('a')).map((key) => [key, null])) }
    expect((await call('POST', '/contacts', { email: 'full@x.org', customFields: half('a') })).status).toBe(200)
    expect(Object.keys(other)).toHaveLength(300)
  })

  test('an array with bad items changes nothing and names each by its index', async () => {
    const items = [{ email: 'ok@batch.org' }, { email: 'bad' }, { email: 'x@batch.org', status: 7 }]
    const { status, body } = await call('POST', '/contacts', items)
    expect(status).toBe(422)
    expect(body.error.details.fields.map((field: { path: string }) => field.path).sort()).toEqual([
      '1.email',
      '2.status',
    ])
    expect((await call('GET', '/contacts/by-email/ok@batch.org')).status).toBe(404)
    const nobody = await call('POST', '/contacts', [{ email: 'ok@batch.org' }, {}])
    expect([nobody.status, nobody.body.error.details.fields[0].path]).toEqual([400, '1'])
  })

  test('an item that outgrows the limits in the middle of an array takes the rest back', async () => {
    const many = (prefix: string) => Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`${prefix}${i}`, i]))
    const { status, body } = await call('POST', '/contacts', [
      { email: 'first@back.org', customFields: many('a') },
      { email: 'second@back.org' },
      { email: 'first@back.org', customFields: many('b') },
    ])
    expect([status, body.error.details.fields[0].path]).toEqual([422, '2.customFields'])
    expect((await call('GET', '/contacts/by-email/first@back.org')).status).toBe(404)
    await upsert({ email: 'alone@back.org', customFields: many('a') })
    const alone = await call('POST', '/contacts', [{ email: 'alone@back.org', customFields: many('b') }])
    expect(alone.body.error.details.fields[0].path).toBe('0.customFields')
  })

  test.each([[0], [1001]])('422 for an array of %i', async (length) => {
    const items = Array.from({ length }, () => ({ email: 'a@b.org' }))
    expect((await call('POST', '/contacts', items)).status).toBe(422)
  })

  test('409 for an email that is another living contact’s', async () => {
    await upsert({ email: 'taken@x.org' })
    const [{ id }] = await upsert({ email: 'free@x.org' })
    const { status, body } = await call('PUT', `/contacts/${id}`, { email: 'TAKEN@x.org' })
    expect([status, body.error.code]).toEqual([409, 'duplicate_resource'])
    expect((await call('PUT', `/contacts/${id}`, { email: 'FREE@x.org' })).status).toBe(200)
  })

  test('409 for a second contact with one phone and no email', async () => {
    const phone = '+4400055555'
    await upsert({ phone })
    const [moved] = await upsert({ phone: '+4400055556' })
    const [named] = await upsert({ email: 'named@x.org' })
    await call('PUT', `/contacts/${named.id}`, { phone })
    expect((await call('PUT', `/contacts/${moved.id}`, { phone })).status).toBe(409)
    expect((await call('PUT', `/contacts/${named.id}`, { email: null })).status).toBe(409)
  })

  test('400 for an update that leaves neither email nor phone', async () => {
    const [{ id }] = await upsert({ email: 'last@x.org' })
    expect((await call('PUT', `/contacts/${id}`, { email: null })).status).toBe(400)
  })

  test.each(['0', '-1', 'abc', '999999999', '9007199254740993', '1.5'])('404 for the id %s', async (id) => {
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await call(method, `/contacts/${id}`)).toMatchObject({
        status: 404,
        body: { message: 'Contact not found' },
      })
    }
    expect((await call('PUT', `/contacts/${id}`, { firstName: 'x' })).status).toBe(404)
  })

  test('404 for another company’s contact, which stays as it is', async () => {
    const other = caller(await newCompany())
    const [mine] = await upsert({ email: 'mine@x.org', phone: '+4400077771' })
    for (const [method, url, body] of [
      ['GET', `/contacts/${mine.id}`, undefined],
      ['GET', '/contacts/by-email/mine@x.org', undefined],
      ['PUT', `/contacts/${mine.id}`, { firstName: 'Eve' }],
      ['DELETE', `/contacts/${mine.id}`, undefined],
    ] as const) {
      expect((await call(method, url, body, other)).status).toBe(404)
    }
    const [theirs] = await upsert({ email: 'mine@x.org', phone: '+4400077771' }, other)
    expect(theirs.id).not.toBe(mine.id)
    expect((await call('GET', `/contacts/${mine.id}`)).body.data).toEqual(mine)
  })

  test('413 over 8 MiB, in forms too', async () => {
    const large: [string, string][] = [
      ['email', 'a@b.org'],
      ['firstName', 'x'.repeat(9 * 1024 * 1024)],
    ]
    expect((await form('url', large)).status).toBe(413)
    expect((await form('multipart', large)).status).toBe(413)
    const { status } = await call('POST', '/contacts', { email: 'a@b.org', firstName: 'x'.repeat(9 * 1024 * 1024) })
    expect(status).toBe(413)
  })
})

describe('a key that holds only ContactsUpsert', () => {
  const clientSide = () => caller(companyId, ['ContactsUpsert'])

  test('gets back what its request carried, alike for those who exist and those who do not', async () => {
    await upsert({ email: 'known@c.org', phone: '+4400088881', firstName: 'Secret', customFields: { plan: 'gold' } })
    const carry = { firstName: 'A', customFields: { seen: true }, marketingConsent: { email: true } }
    const known = await call('POST', '/contacts', { email: 'known@c.org', ...carry }, clientSide())
    const unknown = await call('POST', '/contacts', { email: 'unknown@c.org', ...carry }, clientSide())
    expect(known).toMatchObject({ status: 200 })
    expect(known.text.replaceAll('known@', 'unknown@')).toBe(unknown.text)
    expect(known.body.data).toEqual([
      { email: 'known@c.org', first_name: 'A', custom_fields: { seen: true }, marketing_consent: { email: true } },
    ])
  })

  test('learns nothing from limits that only those who exist can reach', async () => {
    const many = (prefix: string) => Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`${prefix}${i}`, i]))
    await upsert({ email: 'big@c.org', customFields: many('a') })
    const { status } = await call('POST', '/contacts', { email: 'big@c.org', customFields: many('b') }, clientSide())
    expect(status).toBe(200)
    const kept = (await call('GET', '/contacts/by-email/big@c.org')).body.data.custom_fields
    expect(Object.keys(kept)).toHaveLength(150)
  })
})

describe('the list', () => {
  let own: TestCaller
  beforeAll(async () => {
    own = caller(await newCompany())
    await upsert(
      Array.from({ length: 30 }, (_, i) => ({
        email: `list${String(i).padStart(2, '0')}@x.org`,
        phone: `+4930000${1000 + i}`,
        firstName: i === 7 ? 'Ärger' : 'Person',
        lastName: `No${i}`,
      })),
      own,
    )
    await upsert({ phone: '+4930099999', firstName: '日本太郎' }, own)
  })
  const list = async (query: string) => (await call('GET', `/contacts?${query}`, undefined, own)).body
  const emails = (body: { data: { email: string }[] }) => body.data.map((contact) => contact.email)

  test('pages newest first with the general pagination', async () => {
    const first = await list('')
    expect(first.data).toHaveLength(25)
    expect(first.pagination).toEqual({
      page: 1,
      limit: 25,
      total: 31,
      totalPages: 2,
      hasNext: true,
      hasPrevious: false,
      totalIsExact: true,
      nextCursor: expect.any(String),
      previousCursor: null,
    })
    const second = await list('page=2')
    expect(second.data).toHaveLength(6)
    expect(second.pagination).toMatchObject({ hasNext: false, hasPrevious: true })
    const past = await list('page=9&limit=x')
    expect([past.data, past.pagination.hasNext]).toEqual([[], false])
    expect((await list('limit=1000')).pagination.limit).toBe(100)
    expect((await list('limit=99999999999999999999')).pagination.limit).toBe(100)
    expect((await list('page=1&page=2&limit=&limit=3')).pagination).toMatchObject({ page: 1, limit: 25 })
  })

  test.each([
    'created_at',
    '-created_at',
    'updated_at',
    '-updated_at',
    'email',
    '-email',
  ])('sorted by %s, cursors walk the same pages there and back', async (sort) => {
    const whole = (await list(`sort=${sort}&limit=100`)).data.map((one: { id: number }) => one.id)
    const [onward, back] = sort.startsWith('-') ? ['before', 'after'] : ['after', 'before']
    const walked: number[] = []
    let page = await list(`sort=${sort}&limit=7`)
    for (;;) {
      walked.push(...page.data.map((one: { id: number }) => one.id))
      if (!page.pagination.hasNext) break
      page = await list(`sort=${sort}&limit=7&${onward}=${page.pagination.nextCursor}`)
    }
    expect(walked).toEqual(whole)
    expect(page.pagination.nextCursor).toBeNull()
    const previous = await list(`sort=${sort}&limit=7&${back}=${page.pagination.previousCursor}`)
    expect(previous.data.map((one: { id: number }) => one.id)).toEqual(whole.slice(21, 28))
    expect(previous.pagination).toMatchObject({ page: null, hasNext: true, hasPrevious: true })
  })

  test('sorts by email, those without one last', async () => {
    const body = await list('sort=email&limit=100')
    expect(emails(body).slice(0, 2)).toEqual(['list00@x.org', 'list01@x.org'])
    expect(emails(body).at(-1)).toBeNull()
  })

  test.each([
    ['LIST07', 1],
    ['x.org', 30],
    ['ärg', 1],
    ['ÄRGER no7', 1],
    ['本太', 1],
    ['太', 1],
    ['+49 300 00-1007', 1],
    ['30000101', 10],
    ['p', 29],
    ['9', 31],
    ['nobody', 0],
    ['%', 0],
    ['_', 0],
    ["'", 0],
    ['person no1', 11],
    ['rson', 29],
  ])('finds %s in %i contacts', async (search, total) => {
    const body = await list(`search=${encodeURIComponent(search)}&limit=100`)
    expect([body.data.length, body.pagination.total]).toEqual([total, total])
  })

  test('422 for a search or a sort that cannot be', async () => {
    for (const query of ['sort=name', `search=${'x'.repeat(201)}`]) {
      expect((await call('GET', `/contacts?${query}`, undefined, own)).status).toBe(422)
    }
    expect((await call('GET', '/contacts?search=%00', undefined, own)).status).toBe(400)
  })

  const cursorOf = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
  test.each([
    ['an id', '1'],
    ['an id that no contact has', '999999999'],
    ['nothing', ''],
    ['another text', 'x'],
    ['a cursor of another sort', cursorOf('email', 'a@x.org', 1)],
    ['a time that is no number', cursorOf('created_at', '2026-01-01', 1)],
    ['a time beyond all calendars', cursorOf('created_at', 8e15, 1)],
    ['an id that is none', cursorOf('created_at', 1e15, -1)],
    ['a long text', 'A'.repeat(3_000)],
  ])('422 for %s as a cursor', async (_, cursor) => {
    for (const side of ['before', 'after']) {
      const { status, body } = await call('GET', `/contacts?${side}=${cursor}`, undefined, own)
      expect([status, body.error.details.fields[0].path]).toEqual([422, side])
    }
  })

  test('422 for an email that cannot be stored as a cursor', async () => {
    const cursor = cursorOf('email', 'a\0', 1)
    expect((await call('GET', `/contacts?sort=email&after=${cursor}`, undefined, own)).status).toBe(422)
  })

  test('a deleted contact is neither listed nor counted, and still serves as a cursor', async () => {
    const [gone] = await upsert({ email: 'gone@x.org' }, own)
    expect((await list('')).pagination.total).toBe(32)
    const cursor = (await list('limit=1')).pagination.nextCursor
    await call('DELETE', `/contacts/${gone.id}`, undefined, own)
    const after = await list('')
    expect(after.pagination.total).toBe(31)
    expect((await list(`before=${cursor}`)).data).toEqual(after.data)
    expect((await list('search=gone@')).data).toEqual([])
  })
})
