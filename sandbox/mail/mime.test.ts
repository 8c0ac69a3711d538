import { expect, test } from 'vitest'
import { headerValues, parseMail } from './mime.ts'

const parse = (...lines: string[]) => parseMail(Buffer.from(lines.join('\r\n')))

test('reads headers, folded ones too, and each as often as it is there', () => {
  const mail = parse('From: a@b.example', 'Subject: one', '\ttwo', 'X-A: 1', 'x-a: 2', '', 'body')
  expect(headerValues(mail, 'subject')).toEqual(['one\ttwo'])
  expect(headerValues(mail, 'x-a')).toEqual(['1', '2'])
  expect(mail.text).toBe('body')
})

test('decodes encoded words, and drops the blanks between two', () => {
  const mail = parse('Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_?= =?utf-8?B?8J+OiQ==?= end', '', '')
  expect(headerValues(mail, 'subject')).toEqual(['Grüße 🎉 end'])
})

test('finds text and HTML in parts, by their encodings', () => {
  const mail = parse(
    'Content-Type: multipart/mixed; boundary="out"',
    '',
    '--out',
    'Content-Type: multipart/alternative; boundary=in',
    '',
    '--in',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('Grüße').toString('base64'),
    '--in',
    'Content-Type: text/html; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>Gr=FC=DFe =',
    'weiter</p>',
    '--in--',
    '--out--',
  )
  expect(mail).toMatchObject({ text: 'Grüße', html: '<p>Grüße weiter</p>' })
})

test('a bare line end in the head begins a header, as a careless server would read it', () => {
  expect(parse('Subject: a\nBcc: evil@evil.example', '', '').headers.map(({ name }) => name)).toEqual([
    'Subject',
    'Bcc',
  ])
})
