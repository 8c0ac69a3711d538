import { expect, test } from 'vitest'
import { eventually } from '../service.ts'
import { type Company, listOf, startImports } from './import-world.ts'

const { service, newCompany, bring, importList } = await startImports()

const refusedOf = async (company: Company, id: number) =>
  (await company.api('GET', `/contacts/imports/${id}/refused`)).text

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
