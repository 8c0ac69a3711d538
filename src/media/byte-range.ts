import type { ByteRange } from './blobs/blob-store.ts'

/**
 * The part of `size` bytes that a Range header asks for (RFC 9110, 14): `undefined` is the whole, which also answers
 * headers that cannot be read and those that ask for several parts.
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') return within(size - Math.min(Number(last), size), size - 1, size)
  if (last !== '' && Number(last) < Number(first)) return undefined
  return within(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size)
}

const within = (start: number, end: number, size: number): ByteRange | 'unsatisfiable' =>
  start < size ? { start, end } : 'unsatisfiable'
