import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readMultipart } from './form-body.ts'

const read = (contentType: string, body: string | Buffer) => readMultipart(contentType, Buffer.from(body))
const field = (name: string, value: string, eol = '\r\n') =>
  `Content-Disposition: form-data; name="${name}"${eol}${eol}${value}${eol}`

test('a form that the platform writes is read back unchanged, whatever its names and values', async () => {
  // The platform itself writes every line end as CRLF and reads no carriage return of its own.
  const text = fc.string({ unit: 'binary' }).map((one) => one.toWellFormed().replaceAll(/\r\n?|\n/g, '\r\n'))
  // A backslash before a quote is read as a quoted pair, and no header holds control characters.
  const name = text.filter((one) => /^[^\p{Cc}\\]([^\p{Cc}\\]|\r\n)*$/u.test(one))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, text), { minLength: 1 }), async (entries) => {
      const form = new FormData()
      for (const [name, value] of entries) form.append(name, value)
      const request = new Response(form)
      const contentType = request.headers.get('content-type') ?? ''
      expect(await readMultipart(contentType, Buffer.from(await request.arrayBuffer()))).toEqual(entries)
    }),
  )
})

test.each([
  ['of one character', 'multipart/form-data; boundary=x', 'x'],
  ['of 70 characters', `multipart/form-data; boundary=${'b'.repeat(70)}`, 'b'.repeat(70)],
  ['in quotes', 'multipart/form-data; boundary="x"', 'x'],
  ['with what needs quotes', 'multipart/form-data; boundary="a b:(c)=?;/"', 'a b:(c)=?;/'],
  ['among parameters', 'Multipart/Form-Data; charset=utf-8; Boundary=x; other=1', 'x'],
])('a boundary %s', async (_name, contentType, boundary) => {
  const body = `--${boundary}\r\n${field('email', 'ada@example.com')}--${boundary}--\r\n`
  expect(await read(contentType, body)).toEqual([['email', 'ada@example.com']])
})

const X = 'multipart/form-data; boundary=x'

test.each([
  ['text before the first part', `never mind\r\n--x\r\n${field('a', '1')}--x--\r\n`],
  ['text after the last part', `--x\r\n${field('a', '1')}--x--\r\nnever mind\r\n--x\r\n`],
  ['no line end at the end', `--x\r\n${field('a', '1')}--x--`],
  ['text after the end', `--x\r\n${field('a', '1')}--x-- \r\n`],
  ['a line end before the first delimiter', `\r\n--x\r\n${field('a', '1')}--x--\r\n`],
  ['further headers', `--x\r\nContent-Length: 1\r\nContent-Type: text/plain\r\n${field('a', '1')}--x--`],
  ['a folded header', '--x\r\nContent-Disposition: form-data;\r\n\tname="a"\r\n\r\n1\r\n--x--'],
  ['another case and no quotes', '--x\r\nCONTENT-DISPOSITION: Form-Data; Name=a\r\n\r\n1\r\n--x--'],
  ['an encoding that is none', `--x\r\nContent-Transfer-Encoding: 8bit\r\n${field('a', '1')}--x--`],
  [
    'a file field that was left empty',
    `--x\r\n${field('a', '1')}--x\r\nContent-Disposition: form-data; name="f"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--x--`,
  ],
])('%s', async (_name, body) => {
  expect(await read(X, body)).toEqual([['a', '1']])
})

test.each([
  ['nothing', ''],
  ['line ends of its own', '\r\none\r\n\r\ntwo\r\n'],
  ['what looks like a delimiter', ' --xy\r\n --x\r\na--x\r\n-x-\r\n x--y'],
])('a value of %s', async (_name, value) => {
  expect(await read(X, `--x\r\n${field('a', value)}--x\r\n${field('b', '2')}--x--\r\n`)).toEqual([
    ['a', value],
    ['b', '2'],
  ])
})

test.each([
  ['customFields.caffè', 'customFields.caffè'],
  ['a%22b%0D%0A', 'a"b\r\n'],
  ['a\\"b', 'a"b'],
  ['; filename=x', '; filename=x'],
])('a part named %s', async (written, name) => {
  expect(await read(X, `--x\r\n${field(written, '1')}--x--`)).toEqual([[name, '1']])
})

test('a charset of a part is used', async () => {
  const head = '--x\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head), Buffer.from('caff\xe8', 'latin1'), Buffer.from('\r\n--x--')])
  expect(await readMultipart(X, body)).toEqual([['a', 'caffè']])
})

test.each([
  ['no boundary', 'multipart/form-data', `--x\r\n${field('a', '1')}--x--`],
  ['an empty one', 'multipart/form-data; boundary=""', `--\r\n${field('a', '1')}----`],
  ['one of 71 characters', `multipart/form-data; boundary=${'b'.repeat(71)}`, `--${'b'.repeat(71)}--`],
  ['another one', X, `--y\r\n${field('a', '1')}--y--`],
  ['nothing', X, ''],
  ['no end', X, `--x\r\n${field('a', '1')}`],
  ['half an end', X, `--x\r\n${field('a', '1')}--x-`],
  ['no name', X, '--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--'],
  ['no disposition', X, '--x\r\n\r\n1\r\n--x--'],
  ['another disposition', X, '--x\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--x--'],
  ['no empty line', X, '--x\r\nContent-Disposition: form-data; name="a"\r\n--x--'],
  ['a file', X, '--x\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\n1\r\n--x--'],
  [
    'a file with an encoded name',
    X,
    "--x\r\nContent-Disposition: form-data; name=a; filename*=UTF-8''a\r\n\r\n1\r\n--x--",
  ],
  [
    'a file without a name',
    X,
    '--x\r\nContent-Disposition: form-data; name="a"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n1\r\n--x--',
  ],
  ['a file without content', X, '--x\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\n\r\n--x--'],
  ['half a file', X, '--x\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\n1'],
  ['an empty name', X, `--x\r\n${field('', '1')}--x--`],
  ['blanks behind the delimiters', X, `--x \t\r\n${field('a', '1')}--x-- \r\n`],
  ['lines that end with LF alone', X, `--x\n${field('a', '1', '\n')}--x--\n`],
  ['a part without a line of its own', X, '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n--x--'],
  ['a value with a line that begins like the delimiter', X, `--x\r\n${field('a', '1\r\n--xy')}--x--`],
  ['one part of another kind among good ones', X, `--x\r\n${field('a', '1')}--x\r\nA: b\r\n\r\n1\r\n--x--`],
  ['a name that is never closed', X, `--x\r\n${field('a\\', '1')}--x--`],
  ['a control character in a name', X, `--x\r\n${field('a\u0000', '1')}--x--`],
  ['headers of 20 kB', X, `--x\r\n${'A: b\r\n'.repeat(3_000)}${field('a', '1')}--x--`],
  ['1,001 parts', X, `${`--x\r\n${field('a', '1')}`.repeat(1_001)}--x--`],
  ['delimiters alone', X, '--x\r\n'.repeat(100_000)],
  ['base64', X, `--x\r\nContent-Transfer-Encoding: base64\r\n${field('a', 'MQ==')}--x--`],
  ['an unknown charset', X, `--x\r\nContent-Type: text/plain; charset=klingon\r\n${field('a', '1')}--x--`],
])('%s: 400', async (_name, contentType, body) => {
  await expect(read(contentType, body)).rejects.toMatchObject({ status: 400 })
})

test('1,000 parts are read, and a name of 16,000 bytes', async () => {
  const name = 'a'.repeat(16_000)
  const body = `--x\r\n${field(name, '1')}${`--x\r\n${field('a', '1')}`.repeat(999)}--x--`
  expect(await read(X, body)).toEqual([[name, '1'], ...Array.from({ length: 999 }, () => ['a', '1'])])
})

test('bytes that are not UTF-8: 400', async () => {
  const body = Buffer.from(`--x\r\n${field('a', '\xff')}--x--`, 'latin1')
  await expect(readMultipart(X, body)).rejects.toThrow('not valid UTF-8')
})
