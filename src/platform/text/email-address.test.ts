import { describe, expect, test } from 'vitest'
import { emailKey, isEmail, needsSmtpUtf8, storedKeys, wireAddress } from './email-address.ts'

const MUENCHEN = 'b@xn--mnchen-3ya.example'

/** An address, its key, and the form in which mails carry it; null: it is no address. */
const ADDRESSES: readonly [written: string, key: string | null, wire?: string][] = [
  // Case
  ['ada@example.com', 'ada@example.com', 'ada@example.com'],
  ['Ada@Example.COM', 'ada@example.com', 'Ada@example.com'],
  ['ADA+News@example.com', 'ada+news@example.com', 'ADA+News@example.com'],
  ['Ärger@example.com', 'ärger@example.com', 'Ärger@example.com'],
  ['A\u0308rger@example.com', 'ärger@example.com', 'Ärger@example.com'],
  ['ДАША@example.com', 'даша@example.com', 'ДАША@example.com'],
  // Spellings of one domain
  ['b@münchen.example', MUENCHEN, MUENCHEN],
  ['b@MÜNCHEN.example', MUENCHEN, MUENCHEN],
  ['b@mu\u0308nchen.example', MUENCHEN, MUENCHEN],
  ['b@MU\u0308NCHEN.EXAMPLE', MUENCHEN, MUENCHEN],
  ['b@xn--mnchen-3ya.example', MUENCHEN, MUENCHEN],
  ['b@XN--MNCHEN-3YA.example', MUENCHEN, MUENCHEN],
  ['b@ｍüｎｃｈｅｎ.example', MUENCHEN, MUENCHEN],
  ['b@ＭÜＮＣＨＥＮ.ｅｘａｍｐｌｅ', MUENCHEN, MUENCHEN],
  ['b@münchen．example', MUENCHEN, MUENCHEN],
  ['b@münchen。example', MUENCHEN, MUENCHEN],
  ['b@münchen｡example', MUENCHEN, MUENCHEN],
  ['B@münchen.example', MUENCHEN, 'B@xn--mnchen-3ya.example'],
  ['ada@ｅｘａｍｐｌｅ.com', 'ada@example.com', 'ada@example.com'],
  ['ada@ＥＸＡＭＰＬＥ．ＣＯＭ', 'ada@example.com', 'ada@example.com'],
  // Scripts
  ['b@bücher.example', 'b@xn--bcher-kva.example', 'b@xn--bcher-kva.example'],
  ['b@straße.example', 'b@xn--strae-oqa.example', 'b@xn--strae-oqa.example'],
  ['b@strasse.example', 'b@strasse.example', 'b@strasse.example'],
  ['b@почта.рф', 'b@xn--80a1acny.xn--p1ai', 'b@xn--80a1acny.xn--p1ai'],
  ['b@ПОЧТА.РФ', 'b@xn--80a1acny.xn--p1ai', 'b@xn--80a1acny.xn--p1ai'],
  ['b@日本語.jp', 'b@xn--wgv71a119e.jp', 'b@xn--wgv71a119e.jp'],
  ['b@παράδειγμα.ελ', 'b@xn--hxajbheg2az3al.xn--qxam', 'b@xn--hxajbheg2az3al.xn--qxam'],
  ['b@例え.テスト', 'b@xn--r8jz45g.xn--zckzah', 'b@xn--r8jz45g.xn--zckzah'],
  ['b@مثال.إختبار', 'b@xn--mgbh0fb.xn--kgbechtv', 'b@xn--mgbh0fb.xn--kgbechtv'],
  ['b@उदाहरण.परीक्षा', 'b@xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g', 'b@xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g'],
  ['b@mail.bücher.example', 'b@mail.xn--bcher-kva.example', 'b@mail.xn--bcher-kva.example'],
  ['я@почта.рф', 'я@xn--80a1acny.xn--p1ai', 'я@xn--80a1acny.xn--p1ai'],
  ['Ünal@münchen.example', 'ünal@xn--mnchen-3ya.example', 'Ünal@xn--mnchen-3ya.example'],
  ['b@ﬁrma.example', 'b@firma.example', 'b@firma.example'],
  ['b@a1.b2', 'b@a1.b2', 'b@a1.b2'],
  // No addresses
  ['b@münchen', null],
  ['b@münchen..example', null],
  ['b@-munchen-.example', null],
  ['b@mün chen.example', null],
  ['b@mün\u00adchen.example', null],
  ['b@mün\u200bchen.example', null],
  ['b@mün_chen.example', null],
  ['b@☃.example', null],
  ['b@1.2', null],
  ['b@１.２', null],
  ['b@[127.0.0.1]', null],
  [`b@${'ü'.repeat(60)}.example`, null],
  [`b@${'ü.'.repeat(40)}example`, null],
  ['b＠münchen.example', null],
  ['b@@münchen.example', null],
  ['a"b@münchen.example', null],
  ['münchen.example', null],
  ['@münchen.example', null],
]

test.each(ADDRESSES)('%j has the key %s', (written, key, wire) => {
  expect(isEmail(written)).toBe(key !== null)
  if (key === null) return
  expect(emailKey(written)).toBe(key)
  expect(wireAddress(written)).toBe(wire)
  expect(emailKey(emailKey(written))).toBe(key)
  expect(emailKey(wireAddress(written))).toBe(key)
  expect(isEmail(wireAddress(written))).toBe(true)
})

describe('an address', () => {
  test('needs SMTPUTF8 for what is before the @ alone', () => {
    expect(['ada@example.com', 'b@münchen.example', 'é@example.com'].map(needsSmtpUtf8)).toEqual([false, false, true])
  })

  test('was stored under its Unicode form, too', () => {
    expect(storedKeys(MUENCHEN)).toEqual([MUENCHEN, 'b@münchen.example'])
    expect(storedKeys('ada@example.com')).toEqual(['ada@example.com'])
    expect(storedKeys('ada@xn--.example')).toEqual(['ada@xn--.example'])
  })
})
