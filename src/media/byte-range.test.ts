import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseByteRange } from './media-routes.ts'

const bytes = (size: number) => Array.from({ length: size }, (_, index) => index)

/** RFC 9110 in terms of slices. */
function sliceOf(all: number[], first: number | undefined, last: number | undefined): number[] | undefined {
  if (first === undefined) return last === undefined ? undefined : last === 0 ? [] : all.slice(-last)
  if (last !== undefined && last < first) return undefined
  return all.slice(first, last === undefined ? undefined : last + 1)
}

test('a range is the slice that it says', () => {
  const edge = fc.option(fc.nat(30), { nil: undefined })
  fc.assert(
    fc.property(fc.nat(20), edge, edge, (size, first, last) => {
      const all = bytes(size)
      const expected = sliceOf(all, first, last)
      const range = parseByteRange(`bytes=${first ?? ''}-${last ?? ''}`, size)
      if (expected === undefined) expect(range).toBeUndefined()
      else if (expected.length === 0) expect(range).toBe('unsatisfiable')
      else {
        expect(range).toEqual({ start: expected[0], end: expected.at(-1) })
      }
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  undefined,
  '',
  'bytes',
  'bytes=',
  'bytes=-',
  'bytes=a-b',
  'bytes=0-1,3-4',
  'items=0-1',
  'bytes=5-2',
  'bytes=-1-2',
  '0-1',
])('%s asks for the whole', (header) => expect(parseByteRange(header, 10)).toBeUndefined())

test('numbers beyond measure end with the file', () => {
  const huge = '9'.repeat(400)
  expect(parseByteRange(`bytes=2-${huge}`, 10)).toEqual({ start: 2, end: 9 })
  expect(parseByteRange(`bytes=-${huge}`, 10)).toEqual({ start: 0, end: 9 })
  expect(parseByteRange(`bytes=${huge}-`, 10)).toBe('unsatisfiable')
})
