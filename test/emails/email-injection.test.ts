import fc from 'fast-check'
import { expect, test } from 'vitest'
import { propertyRuns } from '../run/property-runs.ts'
import { eventually, startTestService } from '../service.ts'

/**
 * Attempts to bring a header or a second recipient into a mail, through each field that becomes part of a header.
 * Values that are not refused are sent, and a parser that shares no code with the composer reads the mail that the
 * server got.
 */
const ATTEMPTS = propertyRuns(500)
/** Few: mails that wait too long for their turn to be filled are answered 503. */
const AT_ONCE = 10
const service = await startTestService({ mirrors: true })
const { createCompany, operator, db } = service

const BREAKS = [
  '\r\n',
  '\n',
  '\r',
  '\u0000',
  '\u000b',
  '\u000c',
  '\u0085',
  '\u2028',
  '\u2029',
  '%0d%0a',
  '\\r\\n',
  '\r\n\t',
  '\r\n ',
  '=0D=0A',
  '&#13;&#10;',
  '\u560d\u560a',
  '\r\r\n',
  '\n\r',
]
const HEADERS = [
  'Bcc: evil@evil.example',
  'To: evil@evil.example',
  'Cc: evil@evil.example',
  'X-Evil: 1',
  'Content-Type: text/plain',
  '\r\n<b>body</b>',
  '.\r\nMAIL FROM:<x@evil.example>',
  'DATA',
]
const ADDRESSES = [
  'a@example.com, evil@evil.example',
  'a@example.com;evil@evil.example',
  'friends: a@example.com, evil@evil.example;',
  'Evil <evil@evil.example>',
  '<evil@evil.example>',
  '"a@example.com" <evil@evil.example>',
  'a@example.com (comment) evil@evil.example',
  '@evil.example:a@example.com',
  '"a b"@example.com',
  'a@example.com evil@evil.example',
  '=?utf-8?q?evil=40evil.example=2C?=a@example.com',
  'a@example.com\u3000evil@evil.example',
  'a%evil.example@example.com',
  'a!b@example.com',
  'a@[127.0.0.1]',
  'ä@münchen.example',
  'a@example.com\u202e',
  'a@example.com.',
]
const NAMES = [
  '"Evil" <evil@evil.example>',
  'Evil, <evil@evil.example>',
  'Evil <evil@evil.example>,',
  'a; b: c@d.example;',
  '=?utf-8?q?=0D=0ABcc:_evil@evil.example?=',
  '\\"<evil@evil.example>',
  '(comment',
  'Ünïcødé "x" \\',
  '<>',
  ',,,',
]

const pick = <T>(list: readonly T[]) => fc.constantFrom(...list)
const broken = fc
  .tuple(fc.string({ maxLength: 8, unit: 'binary' }), pick(BREAKS), pick(HEADERS), pick([...BREAKS, '']))
  .map((parts) => parts.join(''))
const text = fc.oneof(
  broken,
  pick(NAMES),
  fc.string({ maxLength: 60, unit: 'binary' }),
  fc.string({ maxLength: 300, unit: 'grapheme' }),
)
const address = fc.oneof(
  pick(ADDRESSES),
  broken.map((tail) => `ada@example.com${tail}`),
  fc.tuple(text, pick(['@example.com', '@', ''])).map((parts) => parts.join('')),
)
const wellFormed = <T extends string>(from: fc.Arbitrary<T>) =>
  from.map((one) => one.toWellFormed().replaceAll('\u0000', '\u0001'))

type Attempt = { kind: 'one-shot' | 'template'; body: Record<string, unknown> }
const oneShot = (field: string, value: unknown): Attempt => ({
  kind: 'one-shot',
  body: { to: 'ada@example.com', subject: 'Hello', html: '<p>Hello</p>', from: 'shop@example.org', [field]: value },
})
const attempts: fc.Arbitrary<Attempt>[] = [
  address.map((value) => oneShot('to', value)),
  address.map((value) => oneShot('from', value)),
  address.map((value) => oneShot('replyTo', value)),
  text.map((value) => oneShot('subject', value)),
  text.map((value) => oneShot('fromName', value)),
  text.map((value) => oneShot('headers', { 'X-Note': value })),
  text.map((value) => oneShot('headers', { [value]: 'x' })),
  pick([
    'Bcc',
    'bcc',
    'Cc',
    'To',
    'Resent-To',
    'Sender',
    'Return-Path',
    'Content-Type',
    'X-A\r\nBcc',
    'X-A: b\r\nBcc',
    'X-A ',
  ]).map((name) => oneShot('headers', { [name]: 'evil@evil.example' })),
  wellFormed(text).map(
    (value): Attempt => ({
      kind: 'template',
      body: { recipient: 'ada@example.com', customFields: { order: value, name: value } },
    }),
  ),
  address.map((value): Attempt => ({ kind: 'template', body: { recipient: value, customFields: { order: '1' } } })),
]

/** Every header that a mail of ours may have; those of `headers` come on top. */
const EXPECTED = new Set([
  'from',
  'to',
  'reply-to',
  'subject',
  'message-id',
  'date',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'x-note',
])

test(`${ATTEMPTS} attempts bring neither a header nor a recipient into a mail`, { timeout: 900_000 }, async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  await operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.org', fromName: 'Shop' })
  const template = await operator('POST', `/companies/${companyId}/email-templates`, {
    name: 'T',
    subject: 'Order {{ order }} for {{ name }}',
    html: '<p>{{ name }}</p>',
    text: '{{ name }}',
  })

  const requests = attempts.flatMap((one, place) =>
    fc.sample(one, { numRuns: ATTEMPTS / attempts.length, seed: place + 1 }),
  )
  expect(requests.length).toBe(ATTEMPTS)
  const recipients = new Map<string, string>()
  let refused = 0
  for (let at = 0; at < requests.length; at += AT_ONCE) {
    await Promise.all(
      requests.slice(at, at + AT_ONCE).map(async ({ kind, body }) => {
        const answer =
          kind === 'one-shot'
            ? await api('POST', '/emails', body)
            : await api('POST', '/templates/email/send', { uid: template.body.id, ...body })
        if (answer.status < 300) recipients.set(answer.body.data.id, String(body.to ?? body.recipient))
        else {
          expect([400, 422]).toContain(answer.status)
          refused += 1
        }
      }),
    )
  }
  expect(refused).toBeGreaterThan(ATTEMPTS / 5)
  expect(recipients.size).toBeGreaterThan(ATTEMPTS / 10)
  await eventually(async () => (await db`select from emails where status = 'pending'`).length === 0, 600_000)
  expect(await db`select failure_reason from emails where status = 'failed'`).toEqual([])

  const messageIds = new Map(
    (await db<{ uid: string; messageId: string }[]>`select uid, message_id from emails`).map((row) => [
      row.messageId,
      row.uid,
    ]),
  )
  const mails = (await service.control('GET', '/emails?limit=10000')).body
  expect(mails).toHaveLength(recipients.size)
  for (const mail of mails) {
    const to = recipients.get(messageIds.get(mail.headers['message-id'])!)!
    expect(mail.envelope.to).toHaveLength(1)
    expect(sameMailbox(mail.envelope.to[0], to)).toBe(true)
    expect(sameMailbox(mail.to, to)).toBe(true)
    for (const [name, value] of Object.entries(mail.headers)) {
      expect(EXPECTED.has(name) || /^x-[a-z0-9-]+$/.test(name)).toBe(true)
      // One of each: none was added.
      expect(typeof value).toBe('string')
    }
    expect(mail.headers).not.toHaveProperty('x-evil')
    expect(mail.html).toMatch(/^<p>/)
  }
})

/** Domains travel in ASCII. */
function sameMailbox(one: string, other: string): boolean {
  const ascii = (text: string) => {
    const at = text.lastIndexOf('@')
    return `${text.slice(0, at)}@${new URL(`http://${text.slice(at + 1)}`).hostname}`
  }
  return ascii(one) === ascii(other)
}
