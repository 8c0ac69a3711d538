import type { Delimiter } from '../../src/platform/text/lists/csv.ts'
import { parseCsvRow, toCsvRow } from '../../src/platform/text/lists/csv.ts'
import {
  createToUtf8,
  decodeBytes,
  encodeText,
  isUtf16,
  joinBytes,
  type ListEncoding,
  MARK_NEEDS_BYTES,
  readMark,
} from '../../src/platform/text/lists/encoding.ts'
import {
  createListScan,
  type ListFormat,
  type NamedStyle,
  withoutBlank,
} from '../../src/platform/text/lists/list-scan.ts'
import { createRecordReader, type ListRecord } from '../../src/platform/text/lists/record-reader.ts'
import { columnsOf, type ListRow, lineCells, toMappedLine } from './list-lines.ts'

/** The facts about a file that precede its rows. */
export type ListHead = {
  format: ListFormat
  columns: readonly string[]
  delimiter: Delimiter
  encoding: ListEncoding
  /** Where the rows begin, in the bytes as they are read; bytes of UTF-16 are read as UTF-8. */
  readBytes: number
  readLines: number
  first: ListRow[]
}

/** Rows that are shown before an import. */
export const PREVIEW_ROWS = 10
/** The members of lines are looked for in it. */
const LINES_BYTES = 256 * 1024

/** Reads the columns of a file, how it is written, and its first rows; undefined when it has none. */
export async function readListHead(file: File, named: NamedStyle): Promise<ListHead | undefined> {
  const format = await formatOf(file)
  const scan = createListScan(format, named)
  for await (const chunk of chunksOf(file)) {
    scan.push(chunk)
    if (named.encoding !== undefined && scan.facts().rows > PREVIEW_ROWS) break
  }
  scan.end()
  const { head, encoding, rows } = scan.facts()
  if (head === undefined || head.fault !== undefined || rows === 0) return undefined
  const columns = format === 'csv' ? head.columns.map((column) => column.trim()) : await columnsOfLines(file)
  if (columns.length === 0) return undefined
  const { delimiter, readBytes, readLines } = head
  const found = { format, columns, delimiter, encoding, readBytes, readLines }
  return { ...found, first: await firstRows(file, found) }
}

async function formatOf(file: File): Promise<ListFormat> {
  if (/\.(nd|l)?jsonl?$/i.test(file.name)) return 'ndjson'
  return /^\uFEFF?\s*\{/.test(await file.slice(0, MARK_NEEDS_BYTES).text()) ? 'ndjson' : 'csv'
}

const columnsOfLines = async (file: File): Promise<string[]> =>
  columnsOf((await file.slice(0, LINES_BYTES).text()).replace(/^\uFEFF/, ''), file.size <= LINES_BYTES)

type Place = Omit<ListHead, 'first'>

async function firstRows(file: File, place: Place): Promise<ListRow[]> {
  const first: ListRow[] = []
  for await (const rows of readRows(file, place)) {
    first.push(...rows)
    if (first.length >= PREVIEW_ROWS) break
  }
  return first.slice(0, PREVIEW_ROWS)
}

/** The rows behind the header, in parts: reading a file lets the page work in between. */
export async function* readRows(file: File, head: Place): AsyncGenerator<ListRow[]> {
  for await (const records of readRecords(file, head)) yield records.map((record) => toRow(record, head))
}

async function* readRecords(file: File, head: Place): AsyncGenerator<readonly ListRecord[]> {
  const { format, delimiter, readBytes, readLines } = head
  const from = { byte: readBytes, line: readLines + 1 }
  const reader = createRecordReader(format === 'csv' ? delimiter : null, from)
  for await (const bytes of bytesBehind(file, head)) yield withoutBlank(format, delimiter, reader.push(bytes))
  yield withoutBlank(format, delimiter, reader.end())
}

/** The bytes behind the header, as they are read. */
async function* bytesBehind(file: File, { encoding, readBytes }: Place): AsyncGenerator<Uint8Array> {
  if (!isUtf16(encoding)) return yield* chunksOf(file.slice(readBytes))
  const mark = readMark(new Uint8Array(await file.slice(0, MARK_NEEDS_BYTES).arrayBuffer()))
  const toUtf8 = createToUtf8(encoding)
  let skipped = 0
  const behind = (bytes: Uint8Array): Uint8Array => {
    const rest = bytes.subarray(Math.max(0, readBytes - skipped))
    skipped += bytes.length
    return rest
  }
  for await (const chunk of chunksOf(file.slice(mark.bytes))) yield behind(toUtf8.push(chunk))
  yield behind(toUtf8.end())
}

async function* chunksOf(blob: Blob): AsyncGenerator<Uint8Array> {
  const reader = blob.stream().getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    void reader.cancel()
  }
}

function toRow(record: ListRecord, { format, columns, delimiter, encoding }: Place): ListRow {
  const text = record.isTooLong ? undefined : decodeBytes(record.bytes, encoding)
  if (text === undefined) return { cells: [], fault: 'broken' }
  if (format === 'ndjson') return lineCells(text, columns)
  const { fields, fault } = parseCsvRow(text, delimiter)
  return fault !== undefined || fields.length !== columns.length
    ? { cells: fields, fault: 'broken' }
    : { cells: fields }
}

type Upload = { data: Blob; encoding: ListEncoding }

/** The list as it is sent: the columns have the names that the service knows. Null: the column is left out. */
export async function toUpload(file: File, head: ListHead, targets: readonly (string | null)[]): Promise<Upload> {
  const { format, columns, delimiter, encoding } = head
  if (format === 'ndjson') {
    const parts: Blob[] = []
    for await (const records of readRecords(file, head)) {
      const lines = records.map(({ bytes }) => toMappedLine(decodeBytes(bytes, encoding), columns, targets))
      if (lines.length > 0) parts.push(new Blob([lines.join('')]))
    }
    return { data: new Blob(parts), encoding }
  }
  const header = toCsvRow(
    targets.map((target, place) => target ?? `left out ${place + 1}`),
    { delimiter, isRaw: true },
  )
  const bytes = encodeText(header, encoding)
  // The name of a field may have a character that Windows-1252 has not.
  if (bytes === undefined) return { data: await toUtf8Upload(file, head, header), encoding: 'utf-8' }
  return { data: new Blob([bytes.slice(), file.slice(await sourceBytes(file, head))]), encoding }
}

async function toUtf8Upload(file: File, head: ListHead, header: string): Promise<Blob> {
  const text = new TextDecoder(head.encoding).decode(await file.slice(head.readBytes).arrayBuffer())
  return new Blob([header, text])
}

/** Bytes of the file up to the end of its header. */
async function sourceBytes(file: File, { encoding, readBytes }: ListHead): Promise<number> {
  if (!isUtf16(encoding)) return readBytes
  const start = new Uint8Array(await file.slice(0, readBytes * 2 + MARK_NEEDS_BYTES).arrayBuffer())
  const mark = readMark(start)
  const toUtf8 = createToUtf8(encoding)
  const kept = joinBytes(toUtf8.push(start.subarray(mark.bytes)), toUtf8.end()).subarray(0, readBytes)
  return mark.bytes + (decodeBytes(kept, encoding) ?? '').length * 2
}
