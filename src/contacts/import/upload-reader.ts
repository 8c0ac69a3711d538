import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { type FieldFault, validationError } from '../../errors.ts'
import type { ListFormat } from '../export/contact-export.ts'
import { readHeader, toColumn } from '../write/contact-columns.ts'
import { isBlankRow, parseCsvRow } from './csv.ts'
import { createRecordReader, type ListRecord, type RecordReader } from './record-reader.ts'

export const IMPORT_MAX_ROWS = 1_000_000

type Head = { readBytes: number; readLines: number }
type Header = { columns: readonly string[]; ignored: readonly string[]; head: Head }
/** The columns of a CSV list, those of them that mean nothing, the end of the header, the rows, and the SHA-256. */
export type UploadSummary = Header & { rows: number; digest: Buffer }

/**
 * Reads the header of a list and counts its rows while it passes through `stream`; `result` is for after its end.
 * The stream fails, and `result` throws, with 422 `validation_error` for a list that cannot be imported.
 */
export function createUploadReader(format: ListFormat): { stream: Transform; result: () => UploadSummary } {
  const reader: RecordReader = createRecordReader(format === 'csv')
  let header: (Header & { fault?: string }) | undefined
  const hash = createHash('sha256')
  let rows = 0
  const take = (all: readonly ListRecord[]): void => {
    const records = withoutBlank(format, all)
    rows += records.length
    if (format === 'csv' && header === undefined && records[0] !== undefined) header = toHead(records[0])
    const inHeader = format === 'csv' ? 1 : 0
    if (rows > IMPORT_MAX_ROWS + inHeader) throw refusedList(`must have at most ${IMPORT_MAX_ROWS} rows`)
    if (header?.fault !== undefined) throw refusedList(`must begin with a line that names its columns: ${header.fault}`)
  }
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(
        attempt(() => take(reader.push(chunk))),
        chunk,
      )
    },
    flush(done) {
      done(attempt(() => take(reader.end())))
    },
  })
  const result = (): UploadSummary => {
    const { columns, ignored, head } = header ?? { columns: [], ignored: [], head: { readBytes: 0, readLines: 0 } }
    const count = rows - (format === 'csv' ? 1 : 0)
    if (count < 1) throw refusedList('must have at least one row')
    return { columns, ignored, head, rows: count, digest: hash.digest() }
  }
  return { stream, result }
}

/** Rows whose cells are all empty are no rows of a list. */
export const withoutBlank = (format: ListFormat, records: readonly ListRecord[]): readonly ListRecord[] =>
  format === 'csv' ? records.filter(({ bytes, isTooLong }) => isTooLong || !isBlankRow(bytes)) : records

function attempt(act: () => void): Error | null {
  try {
    act()
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function toHead(record: ListRecord): Header & { fault?: string } {
  const head = { readBytes: record.end, readLines: record.nextLine - 1 }
  if (record.isTooLong || !isUtf8(record.bytes)) {
    return { columns: [], ignored: [], head, fault: record.isTooLong ? 'it is too long' : 'it is not UTF-8' }
  }
  const { fields, fault } = parseCsvRow(decodeRecord(record))
  const columns = fields.map(toColumn)
  const unstorable = columns.some((column) => column.includes('\0')) ? 'a column has NUL in its name' : undefined
  const { ignored, fault: headerFault } = readHeader(columns)
  const wrong = fault ?? unstorable ?? headerFault
  return { columns, ignored, head, ...(wrong !== undefined && { fault: wrong }) }
}

const BYTE_ORDER_MARK = '\uFEFF'

/** The text of a record, without the mark that some programs put before the first. */
export const decodeRecord = (record: ListRecord): string => {
  const text = record.bytes.toString('utf8')
  return record.line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/** 422 for a list as a whole; the message continues `The list `. */
export const refusedList = (message: string) =>
  validationError([{ path: '', message } satisfies FieldFault], `The list ${message}`)
