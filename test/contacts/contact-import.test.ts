import { randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { upsertContacts } from '../../src/contacts/write/contact-upsert.ts'
import { eventually, startTestService, type TestService } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

const BY = { clientId: null, source: 'api' }
let service: TestService

beforeAll(async () => {
  service = await startTestService({ mirrors: true })
}, 300_000)

const newCompany = () => service.createCompany({ isConnected: false })

const bring = (company: Company, body: string | Uint8Array, type = 'text/csv') =>
  fetch(`${service.url}/public/v1/contacts/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${company.key.token}`, 'content-type': type },
    body: body as string,
  }).then(async (response) => ({ status: response.status, body: JSON.parse(await response.text()) }))

async function importList(company: Company, body: string | Uint8Array, type?: string) {
  const taken = await bring(company, body, type)
  expect([taken.status, taken.body]).toEqual([202, taken.body])
  return eventually(async () => {
    const { body: progress } = await company.api('GET', `/contacts/imports/${taken.body.data.id}`)
    return progress.data.ended_at !== null && progress.data
  }, 300_000)
}

const refusedOf = async (company: Company, id: number) =>
  (await company.api('GET', `/contacts/imports/${id}/refused`)).text

const listOf = async (company: Company) =>
  (await company.api('GET', '/contacts?limit=100&sort=created_at')).body.data as Record<string, unknown>[]

const stored = (companyId: number) => service.db`
  select * from contacts where company_id = ${companyId} order by id
`

test('a list of CSV is created, updated and refused row by row', async () => {
  const company = await newCompany()
  await company.api('POST', '/contacts', { email: 'ada@example.com', firstName: 'A', tags: ['kept'] })
  const list = [
    '\uFEFFemail,phone,first_name,last_name,tags,marketing_consent.email,marketing_consent.whatsapp,custom_fields.city,custom_fields.a.b,shoe size',
    'ADA@example.com,,Ada,"Love ""the"" lace",,true,0,"Line one\r\nline two",,7',
    ',+39 333 111-2222,Bob,,vip; new ,,,json:{"n":1},x,',
    'nobody,,,,,,,,,',
    ',,,,,,,,,',
    'c@example.com,12,,,,,,,,',
    'd@example.com,,,,,,,json:{,,',
    'e@example.com,,,',
    'f@example.com,,"x"y,,,,,,,',
    'g@example.com,,Grace,,,,,,,',
  ].join('\r\n')
  const done = await importList(company, list)
  expect(done).toMatchObject({
    status: 'completed',
    failure: null,
    rows: 8,
    rows_read: 8,
    created: 2,
    updated: 1,
    unchanged: 0,
    refused: 5,
  })
  expect(done.refusals).toEqual([
    { line: 5, reason: 'email must be one address such as ada@example.com' },
    { line: 7, reason: 'phone must be 7 to 15 digits with country code, optionally after a +' },
    { line: 8, reason: 'custom_fields.city begins with json: and is not JSON' },
    { line: 9, reason: 'has 4 fields where the header has 10' },
    { line: 10, reason: 'there is text after the end of a quoted field' },
  ])
  expect(await listOf(company)).toMatchObject([
    {
      email: 'ADA@example.com',
      first_name: 'Ada',
      last_name: 'Love "the" lace',
      tags: ['kept'],
      source: 'API',
      marketing_consent: { email: true, whatsapp: false },
      custom_fields: { city: 'Line one\r\nline two' },
    },
    { phone: '+393331112222', first_name: 'Bob', tags: ['vip', 'new'], custom_fields: { city: { n: 1 }, 'a.b': 'x' } },
    { email: 'g@example.com', first_name: 'Grace' },
  ])
  const history =
    await service.db`select channel, value, source, client_id from consents where company_id = ${company.companyId} order by channel`
  expect(history).toMatchObject([
    { channel: 'email', value: true, source: 'import', clientId: company.key.clientId },
    { channel: 'whatsapp', value: false },
  ])
  // Corrected, what was refused is imported as it is.
  const refused = await refusedOf(company, done.id)
  expect(refused.split('\r\n').slice(0, 2)).toEqual([
    `line,reason,${list.split('\r\n')[0]!.slice(1)}`,
    '5,email must be one address such as ada@example.com,nobody,,,,,,,,,',
  ])
  const again = await importList(company, refused.replace('nobody', 'somebody@example.com'))
  expect(again).toMatchObject({ created: 1, refused: 4 })
})

test('the answer names the columns that mean nothing', async () => {
  const company = await newCompany()
  const taken = await bring(company, 'E-mail,email,city\nx,a@example.com,y\n')
  expect(taken.body.data).toMatchObject({ status: 'queued', rows: 1, ignored_columns: ['E-mail', 'city'] })
})

test('lines of JSON are imported alike, with either way of naming', async () => {
  const company = await newCompany()
  const lines = [
    JSON.stringify({
      email: 'a@example.com',
      first_name: 'Ada',
      custom_fields: { n: 1, nested: { deep: [true] } },
      marketing_consent: { email: false },
    }),
    JSON.stringify({
      email: 'b@example.com',
      firstName: 'Bea',
      customFields: { __proto__x: 'x' },
      marketingConsent: { whatsapp: true },
      tags: ['a;b'],
    }),
    '{"email":"c@example.com","custom_fields":{"__proto__":"p","constructor":"c"}}',
    '',
    '{"email":"d@example.com","tags":"no list"}',
    'not json',
    '[1]',
    '{"email":"n\\u0000@example.com"}',
  ]
  const done = await importList(company, lines.join('\n'), 'application/x-ndjson')
  expect(done).toMatchObject({ rows: 7, created: 3, refused: 4 })
  expect(done.refusals.map(({ line }: { line: number }) => line)).toEqual([5, 6, 7, 8])
  const [a, b, c] = await listOf(company)
  expect(a).toMatchObject({
    first_name: 'Ada',
    custom_fields: { n: 1, nested: { deep: [true] } },
    marketing_consent: { email: false, whatsapp: null },
  })
  expect(b).toMatchObject({ first_name: 'Bea', tags: ['a;b'], marketing_consent: { email: null, whatsapp: true } })
  expect(Object.entries(c!.custom_fields as object)).toEqual(
    expect.arrayContaining([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ]),
  )
  expect(await refusedOf(company, done.id)).toContain('{"row":"not json","line":6,"reason":"is not JSON"}\n')
})

test('lists that cannot be read are refused whole, and leave nothing', async () => {
  const company = await newCompany()
  const refusals = await Promise.all(
    [
      '',
      'first_name\nAda\n',
      'email,email\na@example.com,b\n',
      'email\n',
      '"email\n',
      Buffer.from([0xff, 0x0a, 0x61]),
    ].map(async (list) => {
      const { status, body } = await bring(company, list)
      return [status, body.error.code]
    }),
  )
  expect(refusals).toEqual(Array.from({ length: 6 }, () => [422, 'validation_error']))
  expect((await bring(company, 'first_name\nAda\n')).body.error.message).toBe(
    'The list must begin with a line that names its columns: email or phone must be among them',
  )
  expect((await bring(company, 'email\na@example.com\n', 'application/json')).status).toBe(400)
  // A client that disconnected gets no answer; its list is deleted a moment later.
  await eventually(
    async () => (await service.db`select id from contact_imports where company_id = ${company.companyId}`).length === 0,
  )
})

test('more than a million rows are refused', async () => {
  const company = await newCompany()
  const { status, body } = await bring(company, `email\n${'a\n'.repeat(1_000_001)}`)
  expect([status, body.error.message]).toEqual([422, 'The list must have at most 1000000 rows'])
})

test('invalid UTF-8, fields beyond 64 KiB and a field without end are refused alone', async () => {
  const company = await newCompany()
  const list = Buffer.concat([
    Buffer.from('email,first_name\na@example.com,Adà Møller\n'),
    Buffer.from([0x62, 0x40, 0xff, 0x2c, 0x0a]),
    Buffer.from(`c@example.com,${'x'.repeat(65_537)}\n`),
    Buffer.from('d@example.com,"Dora\nE'),
  ])
  const done = await importList(company, list)
  expect([done.created, done.refusals]).toEqual([
    1,
    [
      { line: 3, reason: 'is not valid UTF-8' },
      { line: 4, reason: 'a field is larger than 65536 bytes' },
      { line: 5, reason: 'a quoted field does not end' },
      { line: 6, reason: 'has 1 fields where the header has 2' },
    ],
  ])
})

test('integers keep their digits: a text does, and a number beyond 2^53 is refused', async () => {
  const company = await newCompany()
  const field = await company.api('POST', '/custom-fields', { key: 'POINTS', displayName: 'Points', type: 'number' })
  expect(field.status).toBe(201)
  const rows = ['1234567890123456789', 'json:9007199254740991', 'json:9007199254740993', 'json:-1234567890123456789']
  const cells = rows.map((points, row) => `${row}@example.com,${points}`)
  const done = await importList(company, ['email,custom_fields.POINTS', ...cells].join('\n'))
  const reason = expect.stringContaining('write it as a text')
  expect([done.created, done.refusals]).toEqual([
    2,
    [
      { line: 4, reason },
      { line: 5, reason },
    ],
  ])
  const points = (await listOf(company)).map(({ custom_fields }) => custom_fields)
  expect(points).toEqual(expect.arrayContaining([{ POINTS: '1234567890123456789' }, { POINTS: 9007199254740991 }]))
})

test('rows that name one person are applied in order; custom fields that grow too large are refused alone', async () => {
  const company = await newCompany()
  const rows = Array.from({ length: 2_500 }, (_, i) => `a@example.com,name ${i},${i % 2 === 0}`)
  const done = await importList(company, ['email,first_name,marketing_consent.email', ...rows].join('\n'))
  expect(done).toMatchObject({ created: 1, updated: 2_499 })
  expect(await listOf(company)).toMatchObject([{ first_name: 'name 2499', marketing_consent: { email: false } }])
  const [history] = await service.db`select count(*) from consents where company_id = ${company.companyId}`
  expect(history!.count).toBe(2_500)
  const part = (key: string) => `{"email":"a@example.com","custom_fields":{"${key}":"${'x'.repeat(40_000)}"}}`
  const full = await importList(company, [part('a'), part('b'), part('a')].join('\n'), 'application/x-ndjson')
  expect(full).toMatchObject({ updated: 1, unchanged: 1, refused: 1 })
  expect(full.refusals).toEqual([{ line: 2, reason: 'custom_fields must not be larger than 65536 bytes in all' }])
})

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

test('an Idempotency-Key brings a list in once', async () => {
  const company = await newCompany()
  const send = () =>
    company.api('POST', '/contacts/import', 'email\na@example.com\n', {
      'content-type': 'text/csv',
      'idempotency-key': `list-${randomInt(1e9)}`,
    })
  const key = { 'content-type': 'text/csv', 'idempotency-key': 'list' }
  const first = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  const second = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  expect([first.status, second.status, second.body.data.id]).toEqual([202, 202, first.body.data.id])
  expect((await send()).body.data.id).not.toBe(first.body.data.id)
})

test('an Idempotency-Key with another list of equal length is 422, and nothing of it is kept', async () => {
  const company = await newCompany()
  const key = { 'content-type': 'text/csv', 'idempotency-key': 'same' }
  const first = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  const other = await company.api('POST', '/contacts/import', 'email\nb@example.com\n', key)
  expect([first.status, other.status, other.body.error.code]).toEqual([202, 422, 'idempotency_key_reused'])
  const again = await company.api('POST', '/contacts/import', 'email\na@example.com\n', key)
  expect(again.body.data.id).toBe(first.body.data.id)
  const { db } = service
  await eventually(async () => {
    const rows = await db`select id from contact_imports where company_id = ${company.companyId}`
    return rows.length === 1
  })
})

test('a list as spreadsheets write it: headers in any case, TRUE and FALSE, rows of empty cells', async () => {
  const company = await newCompany()
  const list =
    'Email,PHONE,First_Name,MARKETING_CONSENT.Email,marketingConsent.WhatsApp,Custom_Fields.City\r\n' +
    'a@example.com,,Ada,TRUE,FALSE,Rome\r\n,,,,,\r\n"","",,, ,\r\nb@example.com,,Bea, True ,0,\r\n,,,,,\r\n'
  expect(await importList(company, list)).toMatchObject({ rows: 2, rows_read: 2, created: 2, refused: 0 })
  expect(await listOf(company)).toMatchObject([
    { first_name: 'Ada', marketing_consent: { email: true, whatsapp: false }, custom_fields: { City: 'Rome' } },
    { first_name: 'Bea', marketing_consent: { email: true, whatsapp: false } },
  ])
})

test('a quote that is not closed refuses its own row alone', async () => {
  const company = await newCompany()
  const done = await importList(
    company,
    'email,first_name\na@example.com,"Ada\nb@example.com,Bea\nc@example.com,"Cleo"\n',
  )
  expect(done).toMatchObject({ rows: 3, created: 2, refused: 1 })
  expect(done.refusals).toEqual([{ line: 2, reason: 'a quoted field does not end' }])
})

test('refused lines of JSON are downloaded as such, and imported again once they are corrected', async () => {
  const company = await newCompany()
  const lines = '{"email":"a@example"}\n{"email":"b@example.com"}\nnot json\n'
  const done = await importList(company, lines, 'application/x-ndjson')
  expect(done).toMatchObject({ created: 1, refused: 2 })
  const refused = await refusedOf(company, done.id)
  expect(
    refused
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { email: 'a@example', line: 1, reason: expect.any(String) },
    { row: 'not json', line: 3, reason: 'is not JSON' },
  ])
  const again = await importList(company, refused.replace('a@example', 'a@example.com'), 'application/x-ndjson')
  expect(again).toMatchObject({ created: 1, refused: 1 })
})

describe('imports that wait', () => {
  /** Queued imports without a worker that runs them. */
  const leave = (companyId: number, count: number, bytes: number) => service.db`
    insert into contact_imports (
      company_id, format, storage_key, status, columns, size_bytes, rows, read_bytes, read_lines
    )
    select ${companyId}, 'csv', 'none', 'queued', '{email}', ${bytes}, 1, 0, 0 from generate_series(1, ${count}::int)
    returning id
  `

  test('are listed newest first, page by page', async () => {
    const company = await newCompany()
    const ids = (await leave(company.companyId, 5, 1)).map(({ id }) => id).toReversed()
    const page = async (query: string) => (await company.api('GET', `/contacts/imports?${query}`)).body.data
    const idsOf = (imports: { id: number }[]) => imports.map(({ id }) => id)
    expect(idsOf(await page(''))).toEqual(ids)
    expect(idsOf(await page('limit=2'))).toEqual(ids.slice(0, 2))
    expect(idsOf(await page(`limit=2&before=${ids[1]}`))).toEqual(ids.slice(2, 4))
    const malformed = await company.api('GET', '/contacts/imports?before=x')
    expect([malformed.status, malformed.body.error.details.fields[0].path]).toEqual([422, 'before'])
    expect((await page('limit=1'))[0]).toMatchObject({ status: 'queued', rows: 1, created: 0 })
    const other = await newCompany()
    expect((await other.api('GET', '/contacts/imports')).body.data).toEqual([])
  })

  test('are cancelled: nothing more of them is imported', async () => {
    const company = await newCompany()
    const [row] = await leave(company.companyId, 1, 1)
    const other = await newCompany()
    expect((await other.api('DELETE', `/contacts/imports/${row!.id}`)).status).toBe(404)
    const cancelled = await company.api('DELETE', `/contacts/imports/${row!.id}`)
    expect([cancelled.status, cancelled.body]).toEqual([200, { success: true }])
    const { body } = await company.api('GET', `/contacts/imports/${row!.id}`)
    expect(body.data).toMatchObject({ status: 'cancelled', created: 0, ended_at: expect.any(String) })
    expect((await company.api('DELETE', `/contacts/imports/${row!.id}`)).status).toBe(200)
  })

  test('are ten at most, and 2 GiB together: 422 beyond', async () => {
    const [many, large] = [await newCompany(), await newCompany()]
    await leave(many.companyId, 10, 1)
    await leave(large.companyId, 2, 1024 ** 3)
    for (const company of [many, large]) {
      const { status, body } = await bring(company, 'email\na@example.com\n')
      expect([status, body.error.code]).toEqual([422, 'validation_error'])
    }
    const rows = await service.db`select id from contact_imports where company_id > 0 and status = 'receiving'`
    expect(rows).toHaveLength(0)
  })
})

test('a list that breaks off is not kept', async () => {
  const company = await newCompany()
  const abort = new AbortController()
  const body = Readable.from(
    (async function* () {
      yield 'email\na@example.com\n'
      await new Promise((resume) => setTimeout(resume, 200))
      abort.abort()
      yield 'b@example.com\n'
    })(),
  )
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${company.key.token}`, 'content-type': 'text/csv' },
    body: Readable.toWeb(body),
    duplex: 'half',
    signal: abort.signal,
  }
  await expect(fetch(`${service.url}/public/v1/contacts/import`, init as unknown as RequestInit)).rejects.toThrow()
  expect((await company.api('GET', '/contacts/export')).status).toBe(200)
  // A client that disconnected gets no answer; its list is deleted a moment later.
  await eventually(
    async () => (await service.db`select id from contact_imports where company_id = ${company.companyId}`).length === 0,
  )
})
