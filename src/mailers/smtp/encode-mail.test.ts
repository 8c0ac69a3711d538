import { buffer } from 'node:stream/consumers'
import MailComposer from 'nodemailer/lib/mail-composer'
import { expect, test } from 'vitest'
import { encodeMail } from './encode-mail.ts'

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
