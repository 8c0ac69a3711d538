import { expect, test } from 'vitest'
import { AUTOMATIC_ANSWER, dsn } from '../../../test/emails/dsn.ts'
import { readDeliveryReport } from './delivery-report.ts'

const read = (text: string, hasNullSender = true) => readDeliveryReport({ raw: Buffer.from(text), hasNullSender })

test.each([
  ['5.1.1', true],
  ['5.0.0', false],
  ['5.1.2', true],
  ['5.1.10', true],
  ['5.2.1', true],
  ['5.4.4', true],
  ['5.1.8', false],
  ['5.2.2', false],
  ['5.4.7', false],
  ['5.7.1', false],
  ['4.4.7', false],
  ['4.2.2', false],
])('status %s: whether the failure is permanent for the address is %s', async (status, isPermanent) => {
  expect(await read(dsn({ status, diagnostic: 'smtp; 5xx The text' }))).toEqual({
    kind: 'bounce',
    isPermanent,
    message: '5xx The text',
  })
})

test.each([
  ['a delay', dsn({ action: 'delayed', status: '4.4.1' })],
  ['a delivery', dsn({ action: 'delivered', status: '2.0.0' })],
  ['an automatic answer', AUTOMATIC_ANSWER],
  ['an empty mail', ''],
  ['a mail without an end', dsn().slice(0, 300)],
  [
    'parts inside each other',
    `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${'--b\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'.repeat(1_000)}`,
  ],
])('%s is no report of a failure', async (_name, text) => {
  expect(await read(text)).toBeUndefined()
})

/** What mail servers write, and whether the address is at fault for good. */
const REFUSALS: [status: string, diagnostic: string, isPermanent: boolean][] = [
  ['5.1.1', '550-5.1.1 The email account that you tried to reach does not exist. Please try', true],
  ['5.2.1', '550 5.2.1 The email account that you tried to reach is disabled', true],
  ['5.2.2', '552-5.2.2 The email account that you tried to reach is over quota', false],
  ['5.5.0', '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)', true],
  ['5.1.10', '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup', true],
  ['5.4.1', '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)', false],
  ['5.0.0', "554 delivery error: dd This user doesn't have a yahoo.com account (ada@yahoo.com) [0]", true],
  ['5.0.0', '550 5.1.1 <ada@example.com>: Recipient address rejected: User unknown in local recipient table', true],
  ['5.0.0', "550 5.1.1 <ada@example.com> User doesn't exist: ada@example.com", true],
  ['5.0.0', '550 Unrouteable address', true],
  ['5.0.0', '550 No Such User Here', true],
  ['5.0.0', '550 sorry, no mailbox here by that name (#5.1.1)', true],
  [
    '5.0.0',
    '550 Message was not accepted -- invalid mailbox. Local mailbox a@mail.ru is unavailable: user not found',
    true,
  ],
  ['5.1.1', '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416', true],
  ['5.0.0', '556 Domain does not accept mail', true],
  ['5.0.0', '550 5.4.4 Host or domain name not found. Name service error for name=example.invalid type=A', true],
  ['', '550 5.1.1 unknown user', true],
  ['', '550 Account has been deactivated', true],
  ['', '550 5.1.1 <spam@example.com>: User unknown', true],
  ['5.0.0', '550 High probability of spam', false],
  ['5.0.0', '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', false],
  ['5.1.1', '550 5.1.1 Mail from 192.0.2.1 rejected, listed in our DNSBL', false],
  ['5.7.1', '550 5.7.1 Unauthenticated email from example.org is not accepted due to DMARC policy', false],
  ['5.0.0', '550 Sender address rejected: Domain not found', false],
  ['5.0.0', '550 Sender verify failed', false],
  ['5.0.0', '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record', false],
  ['5.0.0', '552 Mailbox is full', false],
  ['5.0.0', '550 relay not permitted', false],
  ['5.0.0', '554 5.4.14 Hop count exceeded - possible mail loop', false],
  ['5.3.4', '552 5.3.4 Message size exceeds fixed limit', false],
  ['5.0.0', '554 Transaction failed', false],
  ['5.2.0', '550 5.2.0 Mail rejete. Mail rejected. ofr_506 [506]', false],
  ['5.3.0', '550 5.1.1 User unknown', true],
  ['4.4.7', '450 4.1.1 User unknown, try again', false],
]

test.each(REFUSALS)('status %j with %j: the address is at fault: %s', async (status, text, isPermanent) => {
  const report = dsn({ status, diagnostic: `smtp; ${text}` })
  expect(await read(status === '' ? report.replace('Status: \r\n', '') : report)).toMatchObject({ isPermanent })
})

const fromServer = (text: string, headers = ['From: Mail Delivery <Mailer-Daemon@mx.example.net>']) =>
  [...headers, 'Subject: failure notice', '', text].join('\r\n')
const EXIM = [
  'X-Failed-Recipients: ada@example.com',
  'From: Mailer-Daemon@mx.example.net',
  'Auto-Submitted: auto-replied',
]

test.each([
  [
    'Exim',
    fromServer('failed:\r\n\r\n  ada@example.com\r\n    550 5.1.1 User unknown', EXIM),
    true,
    '550 5.1.1 User unknown',
  ],
  [
    'Exim without a code',
    fromServer('failed:\r\n\r\n  ada@example.com\r\n    retry timeout exceeded', EXIM),
    false,
    'retry timeout',
  ],
  ['qmail', fromServer('<ada@example.com>:\r\nSorry, no mailbox here by that name. (#5.1.1)'), true, '5.1.1'],
  [
    'qmail about a spam filter, with a copy of the mail',
    fromServer(
      '<a@example.com>:\r\nRemote host said: 550 rejected as spam\r\n\r\n--- Below this line is a copy\r\n5.1.1',
    ),
    false,
    '550 rejected as spam',
  ],
  [
    'Exchange',
    fromServer('Generating server: mx\r\n\r\n#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##'),
    true,
    '550 5.1.1',
  ],
])('reads the text of %s', async (_name, text, isPermanent, message) => {
  expect(await read(text)).toEqual({ kind: 'bounce', isPermanent, message: expect.stringContaining(message) })
  expect(await read(text, false)).toBeUndefined()
})

test.each([
  ['a warning of a delay', fromServer('Warning: 450 4.2.0 greylisted, will be tried again')],
  ['an absence with a null sender', fromServer('I am away. Call 555 1234 or room 5.1.1', ['From: ada@example.com'])],
  ['a complaint that is none', complaint('not-spam')],
  ['a DMARC failure', complaint('auth-failure')],
])('%s is no report', async (_name, text) => expect(await read(text)).toBeUndefined())

test('reads complaints, whoever sends them', async () => {
  expect(await read(complaint('abuse'), false)).toEqual({ kind: 'complaint', message: 'abuse' })
})

test.each([
  ['comments', dsn({ action: 'failed (bad mailbox)', status: '5.1.1 (bad destination mailbox address)' })],
  ['a global notification', dsn().replace('message/delivery-status', 'message/global-delivery-status')],
])('reads %s', async (_name, text) => expect(await read(text)).toMatchObject({ kind: 'bounce', isPermanent: true }))

function complaint(type: string) {
  return [
    'From: staff@isp.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="F"',
    '',
    '--F',
    'Content-Type: text/plain',
    '',
    'A complaint',
    '--F',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'Version: 1',
    '',
    '--F--',
  ].join('\r\n')
}

test('a report is read when the returned mail is truncated, and its message is bounded and on one line', async () => {
  const text = dsn({ diagnostic: `smtp; 550 a\r\n b${'x'.repeat(1_000)}`, more: 'y'.repeat(500_000) })
  const report = await read(text.slice(0, 256 * 1024))
  expect(report?.message).toMatch(/^550 a bx+$/)
  expect(report?.message).toHaveLength(500)
})
