import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contentDisposition, safeMimeType } from './content-headers.ts'

describe('the type', () => {
  test.each([
    ['image/jpeg', 'image/jpeg'],
    ['Image/PNG', 'image/png'],
    ['audio/ogg; codecs=opus', 'audio/ogg'],
    [
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ],
    ['text/html\r\nset-cookie: a=b', 'application/octet-stream'],
    ['image/png, text/html', 'application/octet-stream'],
    ['image', 'application/octet-stream'],
    ['image/', 'application/octet-stream'],
    ['a b/c', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    [null, 'application/octet-stream'],
  ])('%s is %s', (mimeType, expected) => expect(safeMimeType(mimeType)).toBe(expected))
})

describe('files that are shown and files that are saved', () => {
  test.each([
    'image/jpeg',
    'image/png',
    'image/webp',
    'image/gif',
    'audio/ogg',
    'video/mp4',
    'video/3gpp',
  ])('%s is shown', (type) => expect(contentDisposition(type, null)).toBe('inline'))

  test.each([
    'image/svg+xml',
    'text/html',
    'application/xhtml+xml',
    'text/xml',
    'application/xml',
    'text/javascript',
    'application/pdf',
    'text/plain',
    'application/octet-stream',
    'image/bmp',
    'multipart/x-mixed-replace',
    'application/x-shockwave-flash',
  ])('%s is saved', (type) => expect(contentDisposition(type, null)).toBe('attachment'))
})

describe('the filename', () => {
  test.each([
    ['offer.pdf', 'attachment; filename="offer.pdf"'],
    ['Preisliste März.pdf', `attachment; filename="Preisliste M_rz.pdf"; filename*=UTF-8''Preisliste%20M%C3%A4rz.pdf`],
    ['say "hi".pdf', `attachment; filename="say _hi_.pdf"; filename*=UTF-8''say%20%22hi%22.pdf`],
    ["50% 'off'*.pdf", `attachment; filename="50_ 'off'*.pdf"; filename*=UTF-8''50%25%20%27off%27%2A.pdf`],
    ['../../etc/passwd', 'attachment; filename="passwd"'],
    ['C:\\temp\\a.exe', 'attachment; filename="a.exe"'],
    ['.htaccess', 'attachment; filename="htaccess"'],
    ['a\r\nset-cookie: x=y', 'attachment; filename="aset-cookie: x=y"'],
    ['photo\u202Egpj.exe', 'attachment; filename="photogpj.exe"'],
    ['', 'attachment'],
    ['...', 'attachment'],
  ])('%j', (name, expected) => expect(contentDisposition('application/pdf', name)).toBe(expected))

  test('whatever its name, the header is one line of plain signs and says attachment', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(contentDisposition('application/pdf', name)).toMatch(
          /^attachment(; filename="[ !#$&-[\]-~]+"(; filename\*=UTF-8''[A-Za-z0-9%._~!-]+)?)?$/,
        )
      }),
      { numRuns: 2_000 },
    )
  })

  test('half a character is no obstacle, and no name is endless', () => {
    expect(contentDisposition('application/pdf', 'a\uD800b.pdf')).toContain("filename*=UTF-8''a%EF%BF%BDb.pdf")
    expect(contentDisposition('application/pdf', 'a'.repeat(5_000)).length).toBeLessThan(300)
  })
})
