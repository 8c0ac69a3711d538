import { eventually, startTestService, type TestService } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

export const utf8 = (text: string) => Buffer.from(text)

const mark = (text: string) => Buffer.from(`\uFEFF${text}`)

const le = (text: string, hasMark = true) => Buffer.from(`${hasMark ? '\uFEFF' : ''}${text}`, 'utf16le')

export const be = (text: string, hasMark = true) => le(text, hasMark).swap16()

/** Latin-1, but for the characters that Windows-1252 has in its place. */
export const ansi = (text: string) =>
  Buffer.from(
    text.replaceAll('€', '\x80').replaceAll('“', '\x93').replaceAll('”', '\x94').replaceAll('š', '\x9a'),
    'latin1',
  )

const ROWS = [
  ['ada@example.com', 'Zoë', 'München, Straße 1'],
  ['bob@example.com', '=Bob', 'a "b"; c'],
]

export const table = (delimiter: string, head = ['email', 'first_name', 'custom_fields.town']) =>
  [head, ...ROWS].map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter)).join('\r\n')

const bare = (delimiter: string) =>
  `email${delimiter}first_name${delimiter}custom_fields.town\r\nada@example.com${delimiter}Zoë${delimiter}München\r\nbob@example.com${delimiter}Bob${delimiter}\r\n`

const BOTH = [
  { email: 'ada@example.com', first_name: 'Zoë', custom_fields: { town: 'München, Straße 1' } },
  { email: 'bob@example.com', first_name: '=Bob', custom_fields: { town: 'a "b"; c' } },
]

const BARE = [
  { email: 'ada@example.com', first_name: 'Zoë', custom_fields: { town: 'München' } },
  { email: 'bob@example.com', first_name: 'Bob', custom_fields: {} },
]

const said = (email: boolean | null, whatsapp: boolean | null = null) => ({ marketing_consent: { email, whatsapp } })

type Case = {
  name: string
  bytes: Uint8Array
  query?: string
  type?: string
  record: object
  contacts: object[]
}

export const read = (delimiter: string, encoding: string, others: object = {}) => ({ delimiter, encoding, ...others })

export const FILES: Case[] = [
  // Separators and encodings, found.
  { name: 'commas, UTF-8', bytes: utf8(table(',')), record: read(',', 'utf-8'), contacts: BOTH },
  { name: 'semicolons, UTF-8', bytes: utf8(table(';')), record: read(';', 'utf-8'), contacts: BOTH },
  { name: 'tabs, UTF-8', bytes: utf8(table('\t')), record: read('\t', 'utf-8'), contacts: BOTH },
  { name: 'commas, UTF-8 with a mark', bytes: mark(table(',')), record: read(',', 'utf-8'), contacts: BOTH },
  { name: 'semicolons, UTF-8 with a mark', bytes: mark(bare(';')), record: read(';', 'utf-8'), contacts: BARE },
  {
    name: 'tabs, UTF-16 LE with a mark (Unicode text of Excel)',
    bytes: le(bare('\t')),
    record: read('\t', 'utf-16le'),
    contacts: BARE,
  },
  {
    name: 'semicolons, UTF-16 LE without a mark',
    bytes: le(table(';'), false),
    record: read(';', 'utf-16le'),
    contacts: BOTH,
  },
  { name: 'commas, UTF-16 BE with a mark', bytes: be(table(',')), record: read(',', 'utf-16be'), contacts: BOTH },
  {
    name: 'tabs, UTF-16 BE without a mark',
    bytes: be(bare('\t'), false),
    record: read('\t', 'utf-16be'),
    contacts: BARE,
  },
  {
    name: 'semicolons, Windows-1252 (CSV of Excel in Germany)',
    bytes: ansi(bare(';')),
    record: read(';', 'windows-1252'),
    contacts: BARE,
  },
  { name: 'commas, Windows-1252', bytes: ansi(table(',')), record: read(',', 'windows-1252'), contacts: BOTH },
  {
    name: 'Windows-1252 beyond Latin-1',
    bytes: ansi('email;first_name\nada@example.com;“Aleš” 5 €\n'),
    record: read(';', 'windows-1252'),
    contacts: [{ first_name: '“Aleš” 5 €' }],
  },
  {
    name: 'Windows-1252 that shows late',
    bytes: ansi(`email,first_name\n${'p@example.com,Pat\n'.repeat(9_000)}zoe@example.com,Zoë\n`),
    record: read(',', 'windows-1252', { rows: 9_001, created: 2 }),
    contacts: [{ first_name: 'Pat' }, { first_name: 'Zoë' }],
  },
  {
    name: 'Windows-1252 in the first line',
    bytes: ansi('email;custom_fields.Größe\nada@example.com;7\n'),
    record: read(';', 'windows-1252'),
    contacts: [{ custom_fields: { Größe: '7' } }],
  },
  {
    name: 'UTF-8 with one broken row',
    bytes: Buffer.concat([
      utf8('email,first_name\nzoe@example.com,Zoë Møller\n'),
      Buffer.from('b@example.com,\xff\n', 'latin1'),
    ]),
    record: read(',', 'utf-8', { refused: 1, refusals: [{ line: 3, reason: 'is not valid UTF-8' }] }),
    contacts: [{ first_name: 'Zoë Møller' }],
  },
  {
    name: 'UTF-16 with half a surrogate pair in one row',
    bytes: le('email;first_name\nada@example.com;😀\nbob@example.com;\ud83d\n'),
    record: read(';', 'utf-16le', { refused: 1, refusals: [{ line: 3, reason: 'is not valid UTF-16' }] }),
    contacts: [{ first_name: '😀' }],
  },
  // sep= lines.
  { name: 'sep=; before semicolons', bytes: utf8(`sep=;\r\n${bare(';')}`), record: read(';', 'utf-8'), contacts: BARE },
  { name: 'sep=, with a mark', bytes: mark(`sep=,\n${bare(',')}`), record: read(',', 'utf-8'), contacts: BARE },
  { name: 'sep=<tab> in UTF-16', bytes: le(`sep=\t\r\n${bare('\t')}`), record: read('\t', 'utf-16le'), contacts: BARE },
  { name: '"SEP=;" in quotes', bytes: utf8(`"SEP=;"\n${bare(';')}`), record: read(';', 'utf-8'), contacts: BARE },
  {
    name: 'sep=; where the first line has more commas',
    bytes: utf8('sep=;\nemail;custom_fields.a, b, c\nada@example.com;1,2,3\n'),
    record: read(';', 'utf-8'),
    contacts: [{ custom_fields: { 'a, b, c': '1,2,3' } }],
  },
  // Named.
  {
    name: 'a separator that is named',
    bytes: utf8('email;custom_fields.a,custom_fields.b,custom_fields.c\nada@example.com;x,y,z\n'),
    query: '?delimiter=%3B',
    record: read(';', 'utf-8'),
    contacts: [{ custom_fields: { 'a,custom_fields.b,custom_fields.c': 'x,y,z' } }],
  },
  {
    name: 'a separator by its word',
    bytes: utf8(bare('\t')),
    query: '?delimiter=tab',
    record: read('\t', 'utf-8'),
    contacts: BARE,
  },
  {
    name: 'an encoding that is named',
    bytes: ansi(bare(',')),
    query: '?encoding=windows-1252',
    record: read(',', 'windows-1252'),
    contacts: BARE,
  },
  {
    name: 'Windows-1252 that looks like UTF-8',
    bytes: Buffer.from('email,first_name\nada@example.com,\xc3\xa9\n', 'latin1'),
    query: '?encoding=windows-1252',
    record: read(',', 'windows-1252'),
    contacts: [{ first_name: 'Ã©' }],
  },
  {
    name: 'an encoding that the Content-Type names',
    bytes: Buffer.from('email,first_name\nada@example.com,\xc3\xa9\n', 'latin1'),
    type: 'text/csv; charset=iso-8859-1',
    record: read(',', 'windows-1252'),
    contacts: [{ first_name: 'Ã©' }],
  },
  // Shapes of spreadsheets.
  {
    name: 'rows of empty cells, before and behind',
    bytes: utf8(';;\n;;\nemail;first_name;last_name\n;;\nada@example.com;Ada;\n;;\n"";"";\n'),
    record: read(';', 'utf-8', { rows: 1 }),
    contacts: [{ first_name: 'Ada' }],
  },
  {
    name: 'line ends and separators in quotes',
    bytes: utf8('email;first_name;custom_fields.note\n"ada@example.com";"Ada; Lady";"one\r\ntwo ""three"""\n'),
    record: read(';', 'utf-8', { rows: 1 }),
    contacts: [{ first_name: 'Ada; Lady', custom_fields: { note: 'one\r\ntwo "three"' } }],
  },
  {
    name: 'a quote that is not closed, with semicolons',
    bytes: utf8('email;first_name\na@example.com;"Ada\nb@example.com;Bea\n'),
    record: read(';', 'utf-8', { rows: 2, refusals: [{ line: 2, reason: 'a quoted field does not end' }] }),
    contacts: [{ first_name: 'Bea' }],
  },
  {
    name: 'one column, no separator',
    bytes: utf8('email\nada@example.com\n'),
    record: read(',', 'utf-8'),
    contacts: [{ email: 'ada@example.com' }],
  },
  {
    name: 'tags between semicolons in a list with tabs',
    bytes: utf8('email\ttags\nada@example.com\tvip;new\n'),
    record: read('\t', 'utf-8'),
    contacts: [{ tags: ['vip', 'new'] }],
  },
  // Consent.
  {
    name: 'words of consent',
    bytes: utf8(
      `email,marketing_consent.email\n${[
        'yes',
        'No',
        'TRUE',
        'false',
        '1',
        '0',
        'Opted in',
        'opted-out',
        'SUBSCRIBED',
        'NEVER_SUBSCRIBED',
        '',
      ]
        .map((word, place) => `p${String.fromCharCode(97 + place)}@example.com,${word}`)
        .join('\n')}\n`,
    ),
    record: read(',', 'utf-8', { created: 11 }),
    contacts: [true, false, true, false, true, false, true, false, true, null, null].map((value) => said(value)),
  },
  {
    name: 'translations of consent',
    bytes: utf8(
      'email;marketing_consent.whatsapp\na@example.com;Ja\nb@example.com;Nein, danke\nc@example.com;Vielleicht\n',
    ),
    query: '?consentYes=ja,oui&consentNo=nein%20danke',
    record: read(';', 'utf-8', {
      created: 1,
      refusals: [
        { line: 3, reason: 'marketing_consent.whatsapp must be a word of consent such as yes or no' },
        { line: 4, reason: 'marketing_consent.whatsapp must be a word of consent such as yes or no' },
      ],
    }),
    contacts: [said(null, true)],
  },
  // Integers that a double would round.
  {
    name: 'long integers in json: cells are refused, as text they stay',
    bytes: utf8(
      'email;custom_fields.crm\na@example.com;json:12345678901234567890\nb@example.com;12345678901234567890\nc@example.com;json:{"deep":[-9007199254740993]}\nd@example.com;json:9007199254740991\n',
    ),
    record: read(';', 'utf-8', {
      refused: 2,
      refusals: [2, 4].map((line) => ({
        line,
        reason:
          'custom_fields.crm has an integer beyond ±9007199254740991: write it as a text, so that its digits stay',
      })),
    }),
    contacts: [{ custom_fields: { crm: '12345678901234567890' } }, { custom_fields: { crm: 9007199254740991 } }],
  },
  {
    name: 'long integers in lines of JSON',
    bytes: utf8(
      '{"email":"a@example.com","custom_fields":{"crm":9223372036854775807}}\n{"email":"b@example.com","custom_fields":{"crm":"9223372036854775807"}}\n{"email":"c@example.com","custom_fields":{"crm":1e20}}\n',
    ),
    type: 'application/x-ndjson',
    record: {
      delimiter: null,
      encoding: null,
      refusals: [
        { line: 1, reason: 'has an integer beyond ±9007199254740991: write it as a text, so that its digits stay' },
      ],
    },
    contacts: [{ custom_fields: { crm: '9223372036854775807' } }, { custom_fields: { crm: 1e20 } }],
  },
  {
    name: 'lines of JSON with a mark',
    bytes: mark('{"email":"ada@example.com"}\n'),
    type: 'application/x-ndjson',
    record: { rows: 1 },
    contacts: [{ email: 'ada@example.com' }],
  },
]

/** A service that imports lists. */
export async function startLists() {
  const service = await startTestService({ mirrors: true })
  async function importList(company: Company, bytes: Uint8Array, query = '', type = 'text/csv') {
    const response = await fetch(`${service.url}/public/v1/contacts/import${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${company.key.token}`, 'content-type': type },
      body: bytes as Uint8Array<ArrayBuffer>,
    })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    const body = JSON.parse(await response.text()) as any
    if (response.status !== 202) return { status: response.status, message: body.error.message as string }
    return eventually(async () => {
      const { body: progress } = await company.api('GET', `/contacts/imports/${body.data.id}`)
      return progress.data.ended_at !== null && { ...progress.data, ignored: body.data.ignored_columns }
    }, 300_000)
  }
  return { service, importList }
}
