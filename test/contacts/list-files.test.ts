import { expect, test } from 'vitest'
import { ansi, FILES, startLists, utf8 } from './list-file-world.ts'

const { service, importList } = await startLists()

test('the table has at least 30 files', () => expect(FILES.length).toBeGreaterThanOrEqual(30))

test.each(FILES)('$name', async ({ bytes, query, type, record, contacts }) => {
  const company = await service.createCompany({ isConnected: false })
  const done = await importList(company, bytes, query, type)
  expect(done).toMatchObject({
    status: 'completed',
    refused: 0,
    ...('refusals' in record && { refused: expect.any(Number) }),
    ...record,
  })
  const { body } = await company.api('GET', '/contacts?sort=email&limit=100')
  expect(body.data).toMatchObject(contacts)
})

test.each([
  [
    'a sep= line with another sign',
    utf8('sep=|\nemail|a\na@example.com|1\n'),
    '',
    'its sep= line must name a comma, a semicolon or a tab',
  ],
  [
    'another encoding than is named',
    ansi('email,größe\na@example.com,1\n'),
    '?encoding=utf-8',
    'it is not valid UTF-8',
  ],
  ['only a sep= line', utf8('sep=;\n'), '', 'at least one row'],
  ['a first line of more than 512 KiB', utf8(`email,${'x'.repeat(600_000)}\na@example.com,1\n`), '', 'it is too long'],
  [
    'an export of Mailchimp without its profile',
    utf8('Email Address,MEMBER_RATING,LEID,EUID\na@example.com,1,2,3\n'),
    '',
    'name profile=mailchimp to read an export of Mailchimp',
  ],
  ['a separator that is none', utf8('email\na@example.com\n'), '?delimiter=%7C', ''],
  ['an encoding that is none', utf8('email\na@example.com\n'), '?encoding=utf-7', ''],
  ['a word that opts in and out', utf8('email\na@example.com\n'), '?consentYes=ja&consentNo=JA', ''],
  ['a separator of lines of JSON', utf8('{"email":"a@example.com"}\n'), '?delimiter=tab', '', 'application/x-ndjson'],
] as const)('%s is refused', async (_, bytes, query, message, type?: string) => {
  const company = await service.createCompany({ isConnected: false })
  const refused = await importList(company, bytes, query, type)
  expect(refused).toMatchObject({ status: 422, message: expect.stringContaining(message) })
  expect(await service.db`select from contacts where company_id = ${company.companyId}`).toHaveLength(0)
})

test('a charset that no list can have is 415', async () => {
  const company = await service.createCompany({ isConnected: false })
  const answer = await importList(company, utf8('email\na@example.com\n'), '', 'text/csv; charset=shift_jis')
  expect(answer).toMatchObject({ status: 415 })
})

test.each([
  ['delimiter=;', ';'],
  ['delimiter=%3B&bom=true', ';'],
  ['delimiter=tab&bom=true', '\t'],
  ['bom=true', ','],
])('an export with %s is imported without changing anything', async (query, delimiter) => {
  const company = await service.createCompany({ isConnected: false })
  await company.api('POST', '/contacts', [
    {
      email: 'a@example.com',
      firstName: 'Ada;=cmd',
      tags: ['x', '＝y'],
      customFields: { note: 'a\n-b\t@c', text: '-5' },
    },
    { email: 'b@example.com', firstName: "Bob; '=x", lastName: "'=y", customFields: { note: ';"=HYPERLINK(1)' } },
  ])
  const stored = () => service.db`select * from contacts where company_id = ${company.companyId} order by id`
  const before = await stored()
  const response = await fetch(`${service.url}/public/v1/contacts/export?${query}`, {
    headers: { authorization: `Bearer ${company.key.token}` },
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  expect([...bytes.subarray(0, 3)].join() === '239,187,191').toBe(query.includes('bom'))
  const text = new TextDecoder().decode(bytes)
  expect(text.split('\r\n')[0]?.split(delimiter).slice(0, 3)).toEqual(['id', 'email', 'phone'])
  // However it is split, and wherever quotes are dropped, no piece begins with a formula but a number that is a whole cell.
  const pieces = text.split(/[,;\t\r\n]/).map((piece) => piece.replaceAll('"', ''))
  expect(pieces.filter((piece) => /^[=+\-@＝＋－＠]/.test(piece) && piece !== '-5')).toEqual([])
  expect(await importList(company, bytes)).toMatchObject({ delimiter, unchanged: 2, refused: 0 })
  expect(await stored()).toEqual(before)
})

test('refused rows are downloaded with the separator of the list, for spreadsheets', async () => {
  const company = await service.createCompany({ isConnected: false })
  const done = await importList(company, ansi('email;first_name\nnobody;Zoë; \nwrong;Zoë\n'))
  expect(done).toMatchObject({ refused: 2 })
  const response = await fetch(`${service.url}/public/v1/contacts/imports/${'id' in done ? done.id : 0}/refused`, {
    headers: { authorization: `Bearer ${company.key.token}` },
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  expect(bytes.toString()).toBe(
    '\uFEFFline;reason;email;first_name\r\n2;has 3 fields where the header has 2;nobody;Zoë; \r\n3;email must be one address such as ada@example.com;wrong;Zoë\r\n',
  )
  const again = await importList(company, Buffer.from(bytes.toString().replace('wrong', 'zoe@example.com')))
  expect(again).toMatchObject({ created: 1, refused: 1 })
})
