import { joinBytes } from './bytes.ts'
import { DELIMITERS, type Delimiter } from './delimiter.ts'

/** Longest record that is kept; of a longer one nothing is, and it is marked. */
export const RECORD_MAX_BYTES = 256 * 1024

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const EMPTY = new Uint8Array(0)

/** One record of a list: a row of CSV, or a line. */
export type ListRecord = {
  /** The line it begins on, from 1. */
  readonly line: number
  /** Where the next record begins: on which line, and after how many bytes. */
  readonly nextLine: number
  readonly end: number
  /** Without its line end; empty when it is too long. */
  readonly bytes: Uint8Array
  readonly isTooLong: boolean
  /** A quoted field does not end: the record is its first line alone. */
  readonly isOpen: boolean
}

type RecordReader = {
  /** The records that end in this part. */
  push(chunk: Uint8Array): ListRecord[]
  /** The records that no line end follows. */
  end(): ListRecord[]
}

/**
 * Cuts a stream of bytes into records, in constant memory: at line ends (LF or CRLF), which in CSV (RFC 4180) may stand
 * within quotes. A quote that is not closed ends at its line: so is one with more than 256 KiB behind it, or with text
 * behind the next quote. Records without a byte are passed over. `delimiter`: of a CSV, `any` of its first line; null: records are
 * lines. `from` says where in the whole the first byte stands.
 */
export function createRecordReader(
  delimiter: Delimiter | 'any' | null,
  from: { byte: number; line: number } = { byte: 0, line: 1 },
): RecordReader {
  let { byte: offset, line } = from
  const isQuoted = delimiter !== null
  const delimiters = bytesOf(delimiter)
  let rest: Uint8Array = EMPTY
  /** Of a record that is too long, the part that is dropped already. */
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

/** Where a record ends, before its line end, and how many lines it has. */
type Found = { end: number; lines: number; hasLineEnd: boolean; isOpen: boolean }

/** The next line end from `at` on, of a record that begins at `start`; undefined when it is not there yet. */
function findLineEnd(data: Uint8Array, start: number, at: number, isLast: boolean): Found | undefined {
  const end = data.indexOf(LF, at)
  const within = at === start ? 0 : countLines(data.subarray(start, at))
  if (end !== -1) return { end, lines: within + 1, hasLineEnd: true, isOpen: false }
  return isLast ? { end: data.length, lines: within, hasLineEnd: false, isOpen: false } : undefined
}

/** The end of a record that may have quotes, the first of them at `quote`. */
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
  /** The first line end within the quotes that are open, where the record ends if they are not closed. */
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
