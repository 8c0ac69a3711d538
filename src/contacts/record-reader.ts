/** Longest record that is kept; of a longer one nothing is, and it is marked. */
export const RECORD_MAX_BYTES = 256 * 1024

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const COMMA = 0x2c

/** One record of a list: a row of CSV, or a line. */
export type ListRecord = {
  /** The line it begins on, from 1. */
  readonly line: number
  /** Where the next record begins: on which line, and after how many bytes. */
  readonly nextLine: number
  readonly end: number
  /** Without its line end; empty when it is too long. */
  readonly bytes: Buffer
  readonly isTooLong: boolean
  /** The text ended within quotes. */
  readonly isOpen: boolean
}

type Place = 'start of field' | 'field' | 'quotes' | 'quote in quotes'

export type RecordReader = {
  /** The records that end in this part. */
  push(chunk: Buffer): ListRecord[]
  /** The record that no line end follows, if there is one. */
  end(): ListRecord[]
}

/**
 * Cuts a stream of bytes into records, in constant memory: at line ends (LF or CRLF), which in CSV (RFC 4180) may stand
 * within quotes. Records without a byte are passed over. `from` says where in the whole the first byte stands.
 */
export function createRecordReader(isQuoted: boolean, from: { byte: number; line: number } = { byte: 0, line: 1 }) {
  let place: Place = 'start of field'
  let parts: Buffer[] = []
  let size = 0
  let line = from.line
  let linesWithin = 0
  let offset = from.byte

  const add = (part: Buffer): void => {
    size += part.length
    if (size <= RECORD_MAX_BYTES) parts.push(part)
    else parts = []
  }
  const finish = (end: number, isOpen: boolean): ListRecord => {
    const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
    const bytes = whole.at(-1) === CR ? whole.subarray(0, -1) : whole
    const record = { line, nextLine: line + linesWithin, end, bytes, isTooLong: size > RECORD_MAX_BYTES, isOpen }
    line += linesWithin
    parts = []
    size = 0
    linesWithin = 0
    place = 'start of field'
    return record
  }

  /** The place after the bytes up to the first line end outside quotes, and that line end, -1 when there is none. */
  const findEnd = (chunk: Buffer, start: number, nextQuote: number): number => {
    const lineEnd = place === 'quotes' ? -1 : chunk.indexOf(LF, start)
    if (place !== 'quotes' && (nextQuote === -1 || (lineEnd !== -1 && nextQuote > lineEnd))) {
      if (lineEnd === -1 && start < chunk.length) place = chunk.at(-1) === COMMA ? 'start of field' : 'field'
      return lineEnd
    }
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at]
      if (place === 'quotes') {
        if (byte === QUOTE) place = 'quote in quotes'
        else if (byte === LF) linesWithin += 1
      } else if (byte === LF) return at
      else if (byte === QUOTE && place !== 'field') place = 'quotes'
      else place = byte === COMMA ? 'start of field' : 'field'
    }
    return -1
  }

  return {
    push: (chunk) => {
      const records: ListRecord[] = []
      let nextQuote = isQuoted ? chunk.indexOf(QUOTE) : -1
      for (let start = 0; start < chunk.length; ) {
        if (nextQuote !== -1 && nextQuote < start) nextQuote = chunk.indexOf(QUOTE, start)
        const end = findEnd(chunk, start, nextQuote)
        if (end === -1) {
          add(chunk.subarray(start))
          break
        }
        add(chunk.subarray(start, end))
        linesWithin += 1
        const record = finish(offset + end + 1, false)
        if (record.bytes.length > 0 || record.isTooLong) records.push(record)
        start = end + 1
      }
      offset += chunk.length
      return records
    },
    end: () => {
      const isOpen = place === 'quotes'
      if (size === 0) return []
      const record = finish(offset, isOpen)
      return record.bytes.length > 0 || record.isTooLong ? [record] : []
    },
  } satisfies RecordReader
}
