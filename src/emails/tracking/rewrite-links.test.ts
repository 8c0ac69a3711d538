import { parse } from 'parse5'
import { describe, expect, test } from 'vitest'
import { HTML_MAILS } from '../../../test/emails/html-mails.ts'
import { findTracking, MAX_TRACKED_LINKS } from './rewrite-links.ts'
import { putAddresses } from './track-email.ts'

const OURS = 'https://mail.example/public/v1/'
const PIXEL = `<img src="${OURS}o/T" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`
const isOwn = (url: string) => url.startsWith(OURS)

function rewrite(html: string, asked = { links: true, pixel: true }) {
  const { replacements, targets } = findTracking(html, { ...asked, isOwn })
  return {
    html: putAddresses(html, replacements, (link) => (link === 0 ? `${OURS}o/T` : `${OURS}c/T${link}`)),
    targets,
  }
}

/** Every link that a browser's own parser finds, comments apart. */
function linksOf(html: string): string[] {
  const found: string[] = []
  const walk = (node: object): void => {
    if ('attrs' in node && 'nodeName' in node && (node.nodeName === 'a' || node.nodeName === 'area')) {
      const attrs = node.attrs as { name: string; value: string }[]
      const href = attrs.find(({ name }) => name === 'href')
      if (href) found.push(href.value)
    }
    if ('childNodes' in node) for (const child of node.childNodes as object[]) walk(child)
    if ('content' in node) walk(node.content as object)
  }
  walk(parse(html, { scriptingEnabled: false }))
  return found
}

describe('rewriting a corpus of mails', () => {
  test('is of at least 40 mails', () => expect(HTML_MAILS.length).toBeGreaterThanOrEqual(40))

  test.each(HTML_MAILS)('$name: only links and pixel change', ({ html, links }) => {
    const { html: written, targets } = rewrite(html)
    expect(written.split(`${OURS}c/T`).length - 1).toBe(links)
    expect(written.split(PIXEL).length - 1).toBe(1)
    // Taken out again, what is left is the source, byte for byte.
    let restored = written.replace(PIXEL, '')
    const pieces = restored.split(/https:\/\/mail\.example\/public\/v1\/c\/T[0-9]+/)
    let at = 0
    for (const piece of pieces) {
      const place = html.indexOf(piece, at)
      expect(place).toBeGreaterThanOrEqual(at)
      if (at === 0) expect(place).toBe(0)
      else expect(URL.canParse(decode(html.slice(at, place)))).toBe(true)
      at = place + piece.length
    }
    expect(at).toBe(html.length)
    restored = written
    for (const target of targets) expect(['http:', 'https:']).toContain(new URL(target).protocol)
  })

  test.each(HTML_MAILS)('$name: doing it twice equals doing it once', ({ html }) => {
    const once = rewrite(html)
    expect(rewrite(once.html)).toEqual({ html: once.html, targets: [] })
  })

  test.each(HTML_MAILS)('$name: a browser finds the tracked link wherever it found the link', ({ html }) => {
    const before = linksOf(html)
    const after = linksOf(rewrite(html).html)
    expect(after).toHaveLength(before.length)
    for (const [place, link] of before.entries()) {
      if (!html.includes('<svg') && /^\s*https?:\/\/[^/\s]/i.test(link)) expect(after[place]).toContain(`${OURS}c/T`)
      else if (!/^\s*https?:/i.test(link)) expect(after[place]).toBe(link)
    }
  })
})

const decode = (value: string): string => value.replaceAll('&amp;', '&').replaceAll('&#38;', '&')

describe('links', () => {
  test('the stored target is the address that the link led to', () => {
    expect(
      rewrite('<a href="https://shop.example/?a=1&amp;b=2">x</a><a href=" HTTP://Shop.Example ">y</a>').targets,
    ).toEqual(['https://shop.example/?a=1&b=2', 'HTTP://Shop.Example'])
  })

  test.each([
    ['https://example.com', 'https://example.com'],
    ['https://example.com/a?b=%7Bc%7D#d', 'https://example.com/a?b=%7Bc%7D#d'],
    // An address that a reader of the Location header could misread is written as a browser writes it.
    ['https:\\\\example.com\\a', 'https://example.com/a'],
    ['https:example.com', 'https://example.com/'],
    ['https:/example.com', 'https://example.com/'],
    ['https:///example.com', 'https://example.com/'],
    ['https://example.com/a b', 'https://example.com/a%20b'],
    ['https://example.com/caff\u00e8', 'https://example.com/caff%C3%A8'],
    ['https://caff\u00e8.example', 'https://xn--caff-8oa.example/'],
    ['https://exam\tple.com/\n', 'https://example.com/'],
  ])('%j leads to %s', (href, target) => {
    expect(rewrite(`<a href="${href}">x</a>`).targets).toEqual([target])
  })

  test('a link of ours stays in any writing', () => {
    const html = `<a href="HTTPS://Mail.Example/public/v1/c/T1">x</a>`
    expect(rewrite(html).targets).toEqual([])
  })

  test('one target has one number', () => {
    const { html, targets } = rewrite(
      '<a href="https://a.example/">1</a><a href="https://b.example/">2</a><a href="https://a.example/">3</a>',
    )
    expect(targets).toEqual(['https://a.example/', 'https://b.example/'])
    expect([...html.matchAll(/c\/T([0-9])/g)].map(([, number]) => number)).toEqual(['1', '2', '1'])
  })

  test('tracked addresses stay', () => {
    const html = `<a href="${OURS}c/other">x</a><img src="${OURS}o/other">`
    expect(rewrite(html)).toEqual({ html, targets: [] })
  })

  test('beyond the most that are tracked they stay as they are', () => {
    const links = Array.from({ length: MAX_TRACKED_LINKS + 5 }, (_, n) => `<a href="https://a.example/${n}">x</a>`)
    const { html, targets } = rewrite(links.join(''))
    expect(targets).toHaveLength(MAX_TRACKED_LINKS)
    expect(html).toContain(`href="https://a.example/${MAX_TRACKED_LINKS + 4}"`)
  })

  test('the address of a link that stands at many places is made once', () => {
    const html = '<a href="https://a.example/">x</a>'.repeat(50)
    const { replacements } = findTracking(html, { links: true, pixel: true, isOwn })
    const asked: number[] = []
    putAddresses(html, replacements, (link) => `${OURS}c/T${asked.push(link)}`)
    expect(asked).toEqual([1, 0])
  })

  test('a link whose author turned tracking off stays as it is', () => {
    const html =
      '<a href="https://a.example/" data-parley-track="off">x</a><a DATA-PARLEY-TRACK=Off href=https://b.example/>y</a>'
    expect(rewrite(html, { links: true, pixel: false })).toEqual({ html, targets: [] })
    expect(rewrite('<a href="https://a.example/" data-parley-track="on">x</a>').targets).toEqual(['https://a.example/'])
  })

  test('neither links nor pixel without the options for them', () => {
    const html = '<a href="https://a.example/">x</a>'
    expect(rewrite(html, { links: false, pixel: false }).html).toBe(html)
  })
})

test('the pixel stands before the end of the body', () => {
  expect(rewrite('<html><body>x</body></html>').html).toBe(`<html><body>x${PIXEL}</body></html>`)
  expect(rewrite('<html>x</html>').html).toBe(`<html>x${PIXEL}</html>`)
  expect(rewrite('x').html).toBe(`x${PIXEL}`)
})

test('the deepest nesting takes no more than its length', () => {
  const html = `${'<div>'.repeat(100_000)}<a href="https://a.example/">x</a>${'<a href="https://b.example/">'.repeat(10_000)}`
  expect(rewrite(html).targets).toEqual(['https://a.example/', 'https://b.example/'])
})
