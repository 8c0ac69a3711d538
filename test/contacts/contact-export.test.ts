import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { upsertContacts } from '../../src/contacts/write/contact-upsert.ts'
import { type Company, listOf, startImports } from './import-world.ts'

const BY = { clientId: null, source: 'api' }
const { service, newCompany, bring, importList } = await startImports()

const stored = (companyId: number) => service.db`
  select * from contacts where company_id = ${companyId} order by id
`

describe('an export', () => {
  const text = fc.string({ unit: 'binary', maxLength: 8 }).map((one) => one.toWellFormed().replaceAll('\0', ''))
  const value = fc.oneof(
    text,
    fc.constantFrom('json:1', '=1+1', '007', ''),
    fc.jsonValue({ maxDepth: 2 }).map((one) => JSON.parse(JSON.stringify(one).replaceAll('\\u0000', ''))),
  )
  const filled = (max: number) => text.map((one) => one.slice(0, max).toWellFormed()).filter((one) => one !== '')
  const contact = fc.record(
    {
      phone: fc.integer({ min: 393_000_000, max: 393_000_004 }).map(String),
      firstName: text,
      status: filled(10),
      source: filled(10),
      source_type: fc.constantFrom('database', 'third_party'),
      tags: fc.array(fc.oneof(filled(10), fc.constantFrom('a;b', ' a ', 'json:', 'ok')), { maxLength: 3 }),
      marketingConsent: fc.record({ email: fc.boolean(), whatsapp: fc.boolean() }, { requiredKeys: [] }),
      customFields: fc.dictionary(
        fc.oneof(filled(10), fc.constantFrom('__proto__', 'a.b', '"', 'é😀', 'json:', ' \t')),
        value,
        { maxKeys: 3 },
      ),
    },
    { requiredKeys: [] },
  )

  test.each([
    'csv',
    'ndjson',
  ])('as %s is imported without changing anything, and makes the same contacts elsewhere', async (format) => {
    const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson'
    await fc.assert(
      fc.asyncProperty(fc.array(contact, { minLength: 1, maxLength: 6 }), async (contacts) => {
        const company = await newCompany()
        const bodies = contacts.map((one, i) => (one.phone && i % 2 ? one : { ...one, email: `p${i}@example.com` }))
        for (const body of bodies) expect((await company.api('POST', '/contacts', body)).status).toBe(200)
        // Two who share a phone, the younger without email: only the id distinguishes them.
        await company.api('POST', '/contacts', { email: 'old@example.com' })
        await company.api('POST', '/contacts', { phone: '39300000099', firstName: 'Young' })
        await company.api('POST', '/contacts', { email: 'old@example.com', phone: '39300000099' })
        await service.db`insert into contacts (company_id, phone, phone_identity, source, source_type) values (${company.companyId}, '39300000098', '39300000098', 'WhatsApp', 'service')`
        const before = await stored(company.companyId)
        const { text: exported, headers } = await company.api('GET', `/contacts/export?format=${format}`)
        expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`)
        const done = await importList(company, exported, type)
        expect(done).toMatchObject({ rows: before.length, unchanged: before.length, refusals: [] })
        expect(await stored(company.companyId)).toEqual(before)
      }),
      { numRuns: 12 },
    )
  }, 300_000)

  test('is chosen by Accept or format, and empty without contacts', async () => {
    const company = await newCompany()
    const header =
      'id,email,phone,first_name,last_name,status,source,source_type,external_id,tags,marketing_consent.email,marketing_consent.whatsapp\r\n'
    expect((await company.api('GET', '/contacts/export')).text).toBe(header)
    expect((await company.api('GET', '/contacts/export', undefined, { accept: 'application/x-ndjson' })).text).toBe('')
    expect((await company.api('GET', '/contacts/export?format=xml')).status).toBe(422)
  })

  test('has no deleted contacts', async () => {
    const company = await newCompany()
    const people = [{ email: 'a@example.com' }, { email: 'b@example.com' }]
    const { body } = await company.api('POST', '/contacts', people)
    expect((await company.api('DELETE', `/contacts/${body.data[0].id}`)).status).toBe(200)
    const { text } = await company.api('GET', '/contacts/export?format=ndjson')
    expect(text.match(/[ab]@example.com/g)).toEqual(['b@example.com'])
  })

  test('into another company makes the same contacts', async () => {
    const [one, other] = [await newCompany(), await newCompany()]
    await one.api('POST', '/contacts', [
      {
        email: 'a@example.com',
        phone: '393331110001',
        firstName: '=1+1',
        tags: ['x'],
        customFields: { n: 5, text: '5' },
      },
      { phone: '393331110002', marketingConsent: { whatsapp: true } },
    ])
    const { text } = await one.api('GET', '/contacts/export')
    expect(text).toContain(",'=1+1,")
    expect((await one.api('GET', '/contacts/export?raw=true')).text).toContain(',=1+1,')
    expect((await one.api('GET', '/contacts/export?format=ndjson')).text).toContain('"=1+1"')
    expect(await importList(other, text)).toMatchObject({ created: 2 })
    const plain = async (company: Company) =>
      (await listOf(company)).map(({ id, company: _, created_at, updated_at, ...rest }) => rest)
    expect(await plain(other)).toEqual(await plain(one))
  })

  test('of many contacts has each once', async () => {
    const company = await newCompany()
    const writes = Array.from({ length: 2_500 }, (_, i) => ({ email: `p${i}@example.com` }))
    for (let at = 0; at < 2_500; at += 1_000)
      await upsertContacts(service.db, company.companyId, writes.slice(at, at + 1_000), BY)
    const lines = (await company.api('GET', '/contacts/export?format=ndjson')).text.trim().split('\n')
    expect(new Set(lines.map((line) => JSON.parse(line).email)).size).toBe(2_500)
    expect(lines).toHaveLength(2_500)
  })
})

test('companies see nothing of each other, and browser keys may do neither', async () => {
  const [one, other] = [await newCompany(), await newCompany()]
  const done = await importList(one, 'email\nsecret@example.com\nx\n')
  for (const path of [`/contacts/imports/${done.id}`, `/contacts/imports/${done.id}/refused`, '/contacts/imports/x']) {
    const { status, body } = await other.api('GET', path)
    expect([status, body]).toEqual([404, { message: 'Import not found' }])
  }
  const exported = async ({ api }: Company) => {
    const { status, text } = await api('GET', '/contacts/export?format=ndjson')
    return [status, text.split('\n').filter(Boolean).length]
  }
  expect([await exported(one), await exported(other)]).toEqual([
    [200, 1],
    [200, 0],
  ])
  const browser = await service.createCompany({ isConnected: false, permissions: ['ContactsUpsert'] })
  expect((await bring(browser, 'email\na@example.com\n')).status).toBe(403)
  expect((await browser.api('GET', '/contacts/export')).status).toBe(403)
})
