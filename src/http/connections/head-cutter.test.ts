import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeadCutter } from './connections.ts'

const END = '\r\n\r\n'

/** The pieces of these chunks, as a parser takes them one after the other. */
function piecesOf(chunks: readonly string[]): string[] {
  const cutter = createHeadCutter()
  const pieces: string[] = []
  for (const chunk of chunks) {
    cutter.hold(Buffer.from(chunk))
    while (cutter.holdsBytes()) pieces.push(cutter.next().toString())
  }
  return pieces
}

test('no piece has more than one end of a head, however the bytes arrive', () => {
  const texts = fc.array(fc.constantFrom('\r', '\n', '\r\n', END, 'GET / HTTP/1.1', 'x'), { maxLength: 40 })
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(texts, cuts, (parts, lengths) => {
      const text = parts.join('')
      const chunks: string[] = []
      for (let at = 0, n = 0; at < text.length; n += 1) {
        const length = lengths[n % lengths.length] ?? 1
        chunks.push(text.slice(at, at + length))
        at += length
      }
      const pieces = piecesOf(chunks)
      expect(pieces.join('')).toBe(text)
      // Each end of a head is the end of a piece.
      const ends = new Set<number>()
      let at = 0
      for (const piece of pieces) {
        at += piece.length
        ends.add(at)
      }
      for (let from = 0; ; ) {
        const found = text.indexOf(END, from)
        if (found < 0) break
        expect(ends).toContain(found + END.length)
        from = found + END.length
      }
    }),
  )
})

test('a body of known length is one piece, whatever it holds', () => {
  const cutter = createHeadCutter()
  cutter.hold(Buffer.from(`POST / HTTP/1.1${END}a${END}b${END}GET / HTTP/1.1${END}`))
  expect(cutter.next().toString()).toBe(`POST / HTTP/1.1${END}`)
  cutter.skipBody(10)
  expect([cutter.next(), cutter.next()].map(String)).toEqual([`a${END}b${END}`, `GET / HTTP/1.1${END}`])
  expect(cutter.holdsBytes()).toBe(false)
})
