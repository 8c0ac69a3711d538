import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { caller, contactsApp, type KeyOf } from '../../../test/contacts/contacts-app.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { emailKey, isEmail } from '../../platform/text/email-address.ts'
import { formToWriteBody } from './contact-columns.ts'
import { parseContactUpserts } from './contact-write.ts'

/** Any keys, including ones special to JavaScript. */
const key = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'a.b',
    '.',
    '"',
    '\\',
    '\n',
    "'",
    '🙂',
    'a"b.c',
    '%',
    'ä\u0308',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
)
const isKeepable = (text: string) => !text.includes('\u0000') && text.isWellFormed()
const formText = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => isKeepable(text))

type Entries = [string, string][]
const customEntries: fc.Arbitrary<Entries> = fc
  .uniqueArray(fc.tuple(key.filter(isKeepable), formText), { selector: ([name]) => name, maxLength: 8 })
  .map((pairs) => pairs.map(([name, value]) => [`customFields.${name}`, value]))

const entries: fc.Arbitrary<Entries> = fc
  .tuple(
    fc.constantFrom<Entries>(
      [['email', 'prop@x.org']],
      [['phone', '+39 333 1234567']],
      [
        ['email', 'p@x.org'],
        ['phone', '(39) 333-12.34567'],
      ],
    ),
    fc.array(fc.tuple(fc.constantFrom('firstName', 'lastName', 'status', 'source', 'tags'), formText), {
      maxLength: 4,
    }),
    customEntries,
    fc.array(
      fc.tuple(
        fc.constantFrom('marketingConsent.email', 'marketingConsent.whatsapp'),
        fc.constantFrom('true', 'false', '1', '0'),
      ),
      { maxLength: 2 },
    ),
  )
  .map((parts) => parts.flat())

describe('a form and the same contact in JSON', () => {
  let app: FastifyInstance
  let keyOf: KeyOf
  let companies: number[]
  beforeAll(async () => {
    const { db } = await createTestDatabase({ mirrors: true })
    ;({ app, keyOf } = await contactsApp(db))
    companies = await Promise.all(['a', 'b', 'c'].map(() => createTestCompany(db)))
  })

  async function post(companyId: number, type: string, payload: string | Buffer) {
    const headers = { ...(await keyOf(caller(companyId))).headers, 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/public/v1/contacts', headers, payload })
    return { status: response.statusCode, text: response.body }
  }

  async function multipart(fields: Entries): Promise<[string, Buffer]> {
    const data = new FormData()
    for (const [name, value] of fields) data.append(name, value)
    const request = new Request('http://test/', { method: 'POST', body: data })
    return [request.headers.get('content-type')!, Buffer.from(await request.arrayBuffer())]
  }

  /** The members that differ in the answer of each company. */
  const plain = (text: string) =>
    text.replace(/"(id|company)":[0-9]+/g, '').replace(/"(created_at|updated_at)":"[^"]*"/g, '')

  test('are accepted and refused alike, and kept alike', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (fields) => {
        // Browsers convert line breaks in forms to CRLF; a percent code or backslash in a name is ambiguous.
        const safe = fields.filter(([name, value]) => !/[\r\n]/.test(name + value) && !/%(22|0A|0D)|\\/i.test(name))
        const [json, url, parts] = [
          await post(companies[0]!, 'application/json', JSON.stringify(formToWriteBody(safe))),
          await post(companies[1]!, 'application/x-www-form-urlencoded', new URLSearchParams(safe).toString()),
          await post(companies[2]!, ...(await multipart(safe))),
        ]
        expect([200, 422]).toContain(json.status)
        expect([url.status, plain(url.text)]).toEqual([json.status, plain(json.text)])
        expect([parts.status, plain(parts.text)]).toEqual([json.status, plain(json.text)])
      }),
      { numRuns: propertyRuns(40) },
    )
  })

  test('custom fields of any keys and values survive the round trip', async () => {
    const value = fc
      .jsonValue({ maxDepth: 3, noUnicodeString: false })
      .filter((one) => !/[0-9]{16}/.test(JSON.stringify(one)))
      .filter((one) => one !== null && isKeepable(JSON.parse(JSON.stringify(JSON.stringify(one)))))
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(key.filter(isKeepable), value), {
          selector: ([name]) => name,
          minLength: 1,
          maxLength: 6,
        }),
        async (pairs) => {
          const fields = Object.fromEntries(pairs)
          const email = `round${Math.random()}@x.org`
          const sent = `{"email":"${email}","customFields":${JSON.stringify(fields)}}`
          const { status, text } = await post(companies[0]!, 'application/json', sent)
          if (/\\u0000|\\ud[89a-f]/i.test(sent)) {
            expect([200, 422]).toContain(status)
            return
          }
          expect(status).toBe(200)
          expect(new Map(Object.entries(JSON.parse(text).data[0].custom_fields))).toEqual(
            new Map(Object.entries(JSON.parse(JSON.stringify(fields)))),
          )
          const again = await post(
            companies[0]!,
            'application/json',
            JSON.stringify({ email, customFields: Object.fromEntries(pairs.map(([name]) => [name, null])) }),
          )
          expect(JSON.parse(again.text).data[0].custom_fields).toEqual({})
        },
      ),
      { numRuns: propertyRuns(40) },
    )
  })

  test('whatever comes as a body, the answer is 200, 400 or 422', async () => {
    const member = fc.constantFrom(
      'email',
      'phone',
      'firstName',
      'status',
      'tags',
      'customFields',
      'marketingConsent',
      '__proto__',
    )
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(member, fc.jsonValue()),
      fc.array(fc.dictionary(member, fc.jsonValue()), { maxLength: 3 }),
    )
    await fc.assert(
      fc.asyncProperty(anything, async (body) => {
        const { status, text } = await post(companies[0]!, 'application/json', JSON.stringify(body))
        expect([200, 400, 422], text).toContain(status)
      }),
      { numRuns: propertyRuns(60) },
    )
  })
})

describe('the phone', () => {
  test('is cleaned of formatting and kept as given', async () => {
    expect(await parseContactUpserts({ phone: ' +55 (11) 98765-43.21 ' }, { country: null, known: new Set() })).toEqual(
      [{ phone: '5511987654321' }],
    )
  })
})

describe('the email', () => {
  test.each([
    'a@b.co',
    'first.last+tag@sub.example.org',
    "o'hara@x.ie",
    'josé@münchen.de',
    '用户@例子.公司',
    `${'a'.repeat(64)}@b.org`,
  ])('%s is one', (email) => expect(isEmail(email)).toBe(true))
  test.each([
    '',
    'a',
    '@',
    'a@',
    '@b.co',
    'a@b',
    'a@b..co',
    'a@-b.co',
    'a@b-.co',
    'a b@c.co',
    'a@b.co ',
    'a@b.co,c@d.co',
    'a@b.co\n',
    'a\u0000@b.co',
    '"a"@b.co',
    '<a@b.co>',
    'a@[127.0.0.1]',
    'a@b@c.co',
    'a\u200b@b.co',
    `a@${'b'.repeat(64)}.co`,
    `a@${'b.'.repeat(130)}co`,
  ])('%j is none', (email) => expect(isEmail(email)).toBe(false))
  test('differs in letter case alone: one address', () => {
    expect(emailKey('JOSÉ@X.org')).toBe(emailKey('jose\u0301@x.ORG'))
  })
})
