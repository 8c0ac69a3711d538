import { DELIMITERS, type Delimiter } from './csv.ts'
import { joinBytes } from './encoding.ts'

export const RECORD_MAX_BYTES = 256 * 1024

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const EMPTY = new Uint8Array(0)

export type ListRecord = {
  readonly line: number
  readonly nextLine: number
  readonly end: number
  readonly bytes: Uint8Array
  readonly isTooLong: boolean
  /** An unclosed quote: the record is its first line alone. */
  readonly isOpen: boolean
}

type RecordReader = {
  push(chunk: Uint8Array): ListRecord[]
  end(): ListRecord[]
}

/**
 * Works in constant memory. An unclosed quote has over 256 KiB after it, or text after the next quote. Skips empty
 * records. `delimiter`: `any` for detection, null for lines.
 */
export function createRecordReader(
  delimiter: Delimiter | 'any' | null,
  from: { byte: number; line: number } = { byte: 0, line: 1 },
): RecordReader {
  let { byte: offset, line } = from
  const isQuoted = delimiter !== null
  const delimiters = bytesOf(delimiter)
  let rest: Uint8Array = EMPTY
  let dropped = { bytes: 0, lines: 0 }

  const finish = (part: Uint8Array, { isOpen, lines, hasLineEnd }: Found): ListRecord => {
    offset += part.length + dropped.bytes + (hasLineEnd ? 1 : 0)
    const isTooLong = part.length + dropped.bytes > RECORD_MAX_BYTES
    const bytes = isTooLong ? EMPTY : part.at(-1) === CR ? part.subarray(0, -1) : part
    const record = { line, nextLine: line + lines + dropped.lines, end: offset, bytes, isTooLong, isOpen }
    line = record.nextLine
    dropped = { bytes: 0, lines: 0 }
    return record
  }

  const split = (data: Uint8Array, isLast: boolean): ListRecord[] => {
    const records: ListRecord[] = []
    let start = 0
    let quote = isQuoted ? data.indexOf(QUOTE) : -1
    while (start < data.length || (isLast && dropped.bytes > 0)) {
      if (quote !== -1 && quote < start) quote = data.indexOf(QUOTE, start)
      const mayBeQuoted = quote !== -1 && dropped.bytes === 0
      const found = mayBeQuoted
        ? findQuotedEnd(data, start, { quote, delimiters, isLast })
        : findLineEnd(data, start, start, isLast)
      if (found === undefined) break
      const record = finish(data.subarray(start, found.end), found)
      if (record.bytes.length > 0 || record.isTooLong) records.push(record)
      start = found.end + 1
    }
    rest = data.subarray(start)
    return records
  }

  return {
    push: (chunk) => {
      const records = split(rest.length === 0 ? chunk : joinBytes(rest, chunk), false)
      if (rest.length + dropped.bytes > RECORD_MAX_BYTES) {
        dropped = { bytes: dropped.bytes + rest.length, lines: dropped.lines + countLines(rest) }
        rest = EMPTY
      }
      return records
    },
    end: () => split(rest, true),
  }
}

const bytesOf = (delimiter: Delimiter | 'any' | null): number[] =>
  (delimiter === 'any' ? DELIMITERS : [delimiter ?? '']).map((one) => one.charCodeAt(0))

type Found = { end: number; lines: number; hasLineEnd: boolean; isOpen: boolean }

/** Undefined if more bytes are needed. */
function findLineEnd(data: Uint8Array, start: number, at: number, isLast: boolean): Found | undefined {
  const end = data.indexOf(LF, at)
  const within = at === start ? 0 : countLines(data.subarray(start, at))
  if (end !== -1) return { end, lines: within + 1, hasLineEnd: true, isOpen: false }
  return isLast ? { end: data.length, lines: within, hasLineEnd: false, isOpen: false } : undefined
}

function findQuotedEnd(
  data: Uint8Array,
  start: number,
  { quote, delimiters: [one, other, third], isLast }: { quote: number; delimiters: readonly number[]; isLast: boolean },
): Found | undefined {
  const lineEnd = data.indexOf(LF, start)
  if (lineEnd !== -1 && lineEnd < quote) return findLineEnd(data, start, start, isLast)
  // Letters and most digits are above all three.
  const isDelimiter = (byte = 0) => byte <= 0x3b && (byte === one || byte === other || byte === third)
  let place: 'start of field' | 'field' | 'quotes' | 'quote in quotes' = 'start of field'
  let lines = 0
  let openEnd: Found | undefined
  for (let at = start; at < data.length; at += 1) {
    const byte = data[at]
    if (at - start > RECORD_MAX_BYTES)
      return place === 'quotes' && openEnd ? openEnd : findLineEnd(data, start, at, isLast)
    if (place === 'quotes') {
      if (byte === QUOTE) place = 'quote in quotes'
      if (byte !== LF) continue
      lines += 1
      openEnd ??= { end: at, lines, hasLineEnd: true, isOpen: true }
    } else if (byte === LF) {
      return { end: at, lines: lines + 1, hasLineEnd: true, isOpen: false }
    } else if (place === 'quote in quotes' && byte === QUOTE) {
      place = 'quotes'
    } else if (place === 'quote in quotes' && byte !== CR && openEnd && !isDelimiter(byte)) {
      return openEnd
    } else if (byte === QUOTE && place === 'start of field') {
      place = 'quotes'
      openEnd = undefined
    } else {
      place = isDelimiter(byte) ? 'start of field' : 'field'
    }
  }
  if (!isLast) return undefined
  const isOpen = place === 'quotes'
  return isOpen && openEnd ? openEnd : { end: data.length, lines, hasLineEnd: false, isOpen }
}

function countLines(bytes: Uint8Array): number {
  let lines = 0
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) lines += 1
  return lines
}
