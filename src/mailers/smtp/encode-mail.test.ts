import { buffer } from 'node:stream/consumers'
import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { mail } from '../mailer-suite.ts'
import { encodeMail } from './encode-mail.ts'
import { toMessage } from './mail-message.ts'
import { encodeInThread } from './smtp-mailer.ts'

const [accented, cyrillic] = ['<p>Perché  \n\tè così — x </p>\r\n', 'Привет мир ']

test.each<[string, { html: string; text?: string }]>([
  ['short HTML', { html: '<p>Hello</p>' }],
  ['HTML and text', { html: '<p>Hello</p>\n', text: 'Hello' }],
  ['accents and spaces at the end of lines', { html: accented.repeat(200), text: accented }],
  ['another alphabet', { html: cyrillic.repeat(100), text: cyrillic }],
  ['emoji', { html: '👍'.repeat(300) }],
  ['long lines, and lines of a dot', { html: `${'x'.repeat(2_000)}\n.\n..\n`, text: '\n.\n' }],
  ['nothing', { html: '', text: '' }],
])('%s: the bytes are those of the library', async (_what, content) => {
  for (const textEncoding of [{}, { textEncoding: 'quoted-printable' as const }]) {
    const mail = new MailComposer({
      messageId: '<1@example.com>',
      from: { name: 'Zoë, of the shop', address: 'a@example.com' },
      to: 'b@example.com',
      subject: 'Ünï '.repeat(30),
      date: new Date(0),
      headers: { 'X-Order': '17' },
      ...content,
      ...textEncoding,
    }).compile()
    expect(encodeMail(mail).toString()).toBe((await buffer(mail.createReadStream())).toString())
  }
})

test('a mail of 2 MB is encoded in a thread while other work goes on, and is as it was', async () => {
  const [html, text] = ['<p>Perché è così</p>\n'.repeat(60_000), `${cyrillic}\n`.repeat(20_000)]
  let turns = 0
  let isRunning = true
  const count = () => {
    turns += 1
    if (isRunning) setImmediate(count)
  }
  count()
  const message = toMessage(mail({ subject: 'Ünï', html, text }))
  const encoded = await encodeInThread(1, message)
  isRunning = false
  expect(turns).toBeGreaterThan(50)
  const received = await PostalMime.parse(encoded)
  const isSame = [received.html?.trim() === html.trim(), received.text?.trim() === text.trim()]
  expect([received.subject, ...isSame]).toEqual(['Ünï', true, true])
})
