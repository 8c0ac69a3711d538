import { describe, expect, test } from 'vitest'
import { caller, startContacts } from '../../test/contacts/contacts-app.ts'

const { db, keyOf, companyId, call, upsert, post, form } = await startContacts()

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
    const [first] = await upsert({ email: 'one@p.org', phone: '+447900000001' })
    const [second] = await upsert({ email: 'two@p.org', phone: '+44 7900 000001' })
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
    const [{ id }] = await upsert({ email: 'life@x.org', phone: '+442000000777' })
    expect((await call('GET', `/contacts/${id}`)).body.data.email).toBe('life@x.org')
    expect((await call('GET', '/contacts/by-email/LIFE%40x.org')).body.data.id).toBe(id)
    const updated = await call('PUT', `/contacts/${id}`, { email: 'life2@x.org', lastName: 'Long' })
    expect(updated.body.data).toMatchObject({ id, email: 'life2@x.org', last_name: 'Long', phone: '+442000000777' })
    expect((await call('PUT', `/contacts/${id}`, { phone: null })).body.data.phone).toBeNull()
    expect(await call('DELETE', `/contacts/${id}`)).toMatchObject({ status: 200, body: { success: true } })
    for (const url of [`/contacts/${id}`, '/contacts/by-email/life2@x.org']) {
      expect(await call('GET', url)).toMatchObject({ status: 404, body: { message: 'Contact not found' } })
    }
    const [again] = await upsert({ email: 'life2@x.org' })
    expect(again.id).not.toBe(id)
  })

  test('a phone means its oldest living contact; after deletion the next', async () => {
    const phone = '+442000009999'
    const [one] = await upsert({ email: 'o1@x.org', phone })
    const [two] = await upsert({ email: 'o2@x.org', phone: '+442000009998' })
    await upsert({ email: 'o2@x.org', phone })
    expect((await upsert({ phone }))[0].id).toBe(one.id)
    await call('DELETE', `/contacts/${one.id}`)
    expect((await upsert({ phone }))[0].id).toBe(two.id)
    await call('PUT', `/contacts/${two.id}`, { phone: null })
    const [three] = await upsert({ phone })
    expect([one.id, two.id]).not.toContain(three.id)
    expect((await upsert({ phone: '+442000009998' }))[0].id).not.toBe(two.id)
  })

  test('only changes of consent are kept as history, with the key that made them', async () => {
    const [{ id }] = await upsert({ email: 'c@x.org', marketingConsent: { email: true } })
    await upsert({ email: 'c@x.org', marketingConsent: { email: true, whatsapp: false } })
    await upsert({ email: 'c@x.org' })
    const [last] = await upsert({ email: 'c@x.org', marketingConsent: { email: false } })
    expect(last.marketing_consent).toEqual({ email: false, whatsapp: false })
    const changes = await db`
      select channel, value, client_id, source
      from consents
      where (company_id, contact_id) = (${companyId}, ${id})
      order by id
    `
    const { clientId } = await keyOf(caller(companyId))
    expect(changes.map(({ channel, value, clientId, source }) => [channel, value, clientId, source])).toEqual([
      ['email', true, clientId, 'api'],
      ['whatsapp', false, clientId, 'api'],
      ['email', false, clientId, 'api'],
    ])
  })

  test('a null member of an upsert matches no contact', async () => {
    const [contact] = await upsert({ email: null, phone: '+442000012121', firstName: null })
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
      expect((await post(type, payload)).status).toBe(400)
    }
  })
})

describe('a key that holds only ContactsUpsert', () => {
  const clientSide = () => caller(companyId, ['ContactsUpsert'])

  test('gets back what its request carried, alike for those who exist and those who do not', async () => {
    await upsert({ email: 'known@c.org', phone: '+442000088881', firstName: 'Secret', customFields: { plan: 'gold' } })
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
