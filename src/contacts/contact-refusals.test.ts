import { describe, expect, test } from 'vitest'
import { caller, startContacts } from '../../test/contacts/contacts-app.ts'

const { newCompany, call, upsert, form } = await startContacts()

describe('refusals', () => {
  test.each([
    [{}],
    [{ email: '', phone: '' }],
    [{ email: null }],
    [{ firstName: 'x' }],
    ['"text"'],
    ['null'],
    ['7'],
  ])('400 for %j, which names no contact', async (body) => {
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
    expect((await call('POST', '/contacts', { email: 'full@x.org', customFields: half('a') })).status).toBe(200)
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
    const unnamed = await call('POST', '/contacts', [{ email: 'ok@batch.org' }, {}])
    expect([unnamed.status, unnamed.body.error.details.fields[0].path]).toEqual([400, '1'])
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
    const phone = '+442000055555'
    await upsert({ phone })
    const [moved] = await upsert({ phone: '+442000055556' })
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
    const [mine] = await upsert({ email: 'mine@x.org', phone: '+442000077771' })
    for (const [method, url, body] of [
      ['GET', `/contacts/${mine.id}`, undefined],
      ['GET', '/contacts/by-email/mine@x.org', undefined],
      ['PUT', `/contacts/${mine.id}`, { firstName: 'Eve' }],
      ['DELETE', `/contacts/${mine.id}`, undefined],
    ] as const) {
      expect((await call(method, url, body, other)).status).toBe(404)
    }
    const [theirs] = await upsert({ email: 'mine@x.org', phone: '+442000077771' }, other)
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
