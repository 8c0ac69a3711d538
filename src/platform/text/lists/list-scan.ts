import { DELIMITERS, type Delimiter, isBlankRow, parseCsvRow, readSepLine } from './csv.ts'
import {
  createToUtf8,
  createUtf8Count,
  decodeBytes,
  isUtf16,
  joinBytes,
  type ListEncoding,
  MARK_NEEDS_BYTES,
  readMark,
} from './encoding.ts'
import { createRecordReader, type ListRecord, RECORD_MAX_BYTES } from './record-reader.ts'

export type ListFormat = 'csv' | 'ndjson'

export type NamedStyle = { readonly delimiter?: Delimiter | undefined; readonly encoding?: ListEncoding | undefined }

/** `columns` is empty without a header, as in JSON lines. */
export type ListHead = {
  readonly columns: readonly string[]
  readonly delimiter: Delimiter
  readonly readBytes: number
  readonly readLines: number
  readonly fault?: string
  readonly mayChange?: boolean
}

type ListScan = {
  /** Returns the bytes to keep: UTF-16 converted to UTF-8, others unchanged. */
  push(chunk: Uint8Array): Uint8Array
  end(): Uint8Array
  /** `head` is undefined before its line end. The encoding is only certain after the end. */
  facts(): { readonly head: ListHead | undefined; readonly encoding: ListEncoding; readonly rows: number }
}

const NOTHING = new Uint8Array(0)
const HEAD_MAX_BYTES = 2 * RECORD_MAX_BYTES

/** Offsets refer to the kept bytes. */
export function createListScan(format: ListFormat, named: NamedStyle = {}): ListScan {
  const count = createUtf8Count()
  const rows = createRowScan(format, named)
  let start: Uint8Array | null = NOTHING
  let encoding: ListEncoding | undefined = format === 'ndjson' ? 'utf-8' : named.encoding
  let toUtf8: ReturnType<typeof createToUtf8> | undefined

  const scan = (bytes: Uint8Array): Uint8Array => {
    if (encoding === undefined) count.push(bytes)
    rows.push(bytes)
    return bytes
  }
  const take = (chunk: Uint8Array): Uint8Array => scan(toUtf8 === undefined ? chunk : toUtf8.push(chunk))
  const begin = (bytes: Uint8Array): Uint8Array => {
    const mark = readMark(bytes)
    const isOfPair = encoding !== undefined && isUtf16(encoding) && mark.bytes > 0 && isUtf16(mark.encoding ?? encoding)
    encoding = isOfPair ? mark.encoding : (encoding ?? mark.encoding)
    const skipped = mark.encoding === encoding ? mark.bytes : 0
    if (encoding !== undefined && isUtf16(encoding)) {
      toUtf8 = createToUtf8(encoding)
      return take(bytes.subarray(skipped))
    }
    rows.skip(skipped)
    take(bytes.subarray(skipped))
    return bytes
  }

  return {
    push: (chunk) => {
      if (start === null) return take(chunk)
      start = joinBytes(start, chunk)
      if (start.length < MARK_NEEDS_BYTES) return NOTHING
      const bytes = start
      start = null
      return begin(bytes)
    },
    end: () => {
      const first = start === null ? NOTHING : begin(start)
      start = null
      const last = toUtf8 === undefined ? NOTHING : scan(toUtf8.end())
      rows.end()
      return joinBytes(first, last)
    },
    facts: () => {
      const found = encoding ?? count.encoding()
      return { head: rows.head(found), encoding: found, rows: rows.count() }
    },
  }
}

type RowScan = {
  skip(bytes: number): void
  push(bytes: Uint8Array): void
  end(): void
  head(encoding: ListEncoding): ListHead | undefined
  count(): number
}

const createRowScan = (format: ListFormat, named: NamedStyle): RowScan =>
  format === 'csv' ? createCsvScan(named) : createLineScan()

function createLineScan(): RowScan {
  const reader = createRecordReader(null)
  let [readBytes, rows] = [0, 0]
  return {
    skip: (bytes) => {
      readBytes = bytes
    },
    push: (bytes) => {
      rows += reader.push(bytes).length
    },
    end: () => {
      rows += reader.end().length
    },
    head: () => ({ columns: [], delimiter: ',', readBytes, readLines: 0 }),
    count: () => rows,
  }
}

function createCsvScan(named: NamedStyle): RowScan {
  const delimiter = named.delimiter ?? 'any'
  let skipped = 0
  let reader = createRecordReader(delimiter)
  let header: Header | undefined
  /** Kept until the separator is known, to parse the header again. */
  let waiting: Uint8Array = NOTHING
  let leading: readonly ListRecord[] = []
  let rows = 0

  const take = (records: readonly ListRecord[]): void => {
    if (header !== undefined) rows += withoutBlank('csv', header.delimiter, records).length
    else {
      leading = [...leading, ...records.filter(hasValue)]
      header = toHeader(leading, named)
      if (header !== undefined) goBehind(header)
    }
  }
  const goBehind = ({ record, delimiter }: Header): void => {
    reader = createRecordReader(delimiter, { byte: record.end, line: record.nextLine })
    const behind = waiting.subarray(record.end - skipped)
    waiting = NOTHING
    take(reader.push(behind))
  }

  return {
    skip: (bytes) => {
      skipped = bytes
      reader = createRecordReader(delimiter, { byte: bytes, line: 1 })
    },
    push: (bytes) => {
      if (header === undefined) waiting = joinBytes(waiting, bytes)
      take(reader.push(bytes))
      if (header !== undefined || waiting.length <= HEAD_MAX_BYTES) return
      header = { record: TOO_LONG, delimiter: ',' }
      waiting = NOTHING
    },
    end: () => {
      const isAtHeader = header === undefined
      take(reader.end())
      if (isAtHeader && header !== undefined) take(reader.end())
    },
    head: (encoding) => header && toHead(header, encoding),
    count: () => rows,
  }
}

const TOO_LONG: ListRecord = { line: 1, nextLine: 1, end: 0, bytes: NOTHING, isTooLong: true, isOpen: false }

type Header = { readonly record: ListRecord; readonly delimiter: Delimiter; readonly sepFault?: string }

function toHeader(records: readonly ListRecord[], named: NamedStyle): Header | undefined {
  const [first, second] = records
  if (first === undefined) return undefined
  const sep = readSepLine(looseText(first))
  if (sep === undefined) return { record: first, delimiter: named.delimiter ?? findDelimiter(looseText(first)) }
  if (second === undefined) return undefined
  const delimiter = named.delimiter ?? sep.delimiter
  if (delimiter !== undefined) return { record: second, delimiter }
  return { record: second, delimiter: ',', sepFault: 'its sep= line must name a comma, a semicolon or a tab' }
}

const hasValue = (record: ListRecord): boolean => record.isTooLong || !/^[\s,;"]*$/.test(looseText(record))

/** Separators and deciding column names are ASCII in every encoding. */
const looseText = ({ bytes }: ListRecord): string => decodeBytes(bytes, 'windows-1252') ?? ''

function toHead({ record, delimiter, sepFault }: Header, encoding: ListEncoding): ListHead {
  const head = { delimiter, readBytes: record.end, readLines: record.nextLine - 1 }
  if (record.isTooLong) return { ...head, columns: [], fault: 'it is too long' }
  const text = decodeBytes(record.bytes, encoding)
  if (text === undefined)
    return { ...head, columns: [], fault: `it is not valid ${encodingName(encoding)}`, mayChange: true }
  const { fields, fault } = parseCsvRow(text, delimiter)
  const wrong = sepFault ?? fault
  return { ...head, columns: fields, ...(wrong !== undefined && { fault: wrong }) }
}

export const encodingName = (encoding: ListEncoding): string =>
  ({ 'utf-8': 'UTF-8', 'utf-16le': 'UTF-16', 'utf-16be': 'UTF-16', 'windows-1252': 'Windows-1252' })[encoding]

/** Address column names that confirm a separator. */
const IDENTITY = /^\s*(?:e-?mail(?:[ _-]?address)?|mail|phone(?:[ _-]?number)?|mobile|telefon|id)\s*$/i

/** Returns the separator that isolates an email or phone column, else the most frequent. */
export function findDelimiter(header: string): Delimiter {
  const found = DELIMITERS.map((delimiter) => {
    const { fields } = parseCsvRow(header, delimiter)
    return { delimiter, hasIdentity: fields.some((field) => IDENTITY.test(field)), columns: fields.length }
  })
  const [best] = found.toSorted(
    (one, other) => Number(other.hasIdentity) - Number(one.hasIdentity) || other.columns - one.columns,
  )
  return best?.delimiter ?? ','
}

/** Drops rows whose cells are all empty. */
export const withoutBlank = (
  format: ListFormat,
  delimiter: Delimiter,
  records: readonly ListRecord[],
): readonly ListRecord[] =>
  format === 'csv' ? records.filter(({ bytes, isTooLong }) => isTooLong || !isBlankRow(bytes, delimiter)) : records
