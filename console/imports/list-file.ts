import { createCsvReader, toCsvLine } from './csv-reader.ts'

export type ListFormat = 'csv' | 'ndjson'
/** A row of a list: its cells in the order of the columns. A row that cannot be read has a fault. */
export type ListRow = { cells: readonly unknown[]; isBroken: boolean }
/** The facts about a file that its beginning shows. */
export type ListHead = { format: ListFormat; columns: string[]; headBytes: number; first: ListRow[] }

/** Rows that are shown before an import. */
export const PREVIEW_ROWS = 10
/** A header ends within it, and the members of lines are looked for in it. */
const HEAD_BYTES = 256 * 1024
const BYTE_ORDER_MARK_BYTES = 3

/** Reads the columns of a file and its first rows; undefined when it has none. */
export async function readHead(file: File): Promise<ListHead | undefined> {
  const bytes = file.slice(0, HEAD_BYTES)
  const text = await bytes.text()
  const isWhole = file.size <= HEAD_BYTES
  return isNdjson(file, text) ? headOfLines(text, isWhole) : headOfCsv(text, isWhole, await hasMark(bytes))
}

const isNdjson = (file: File, text: string): boolean => /\.(nd|l)?jsonl?$/i.test(file.name) || /^\s*\{/.test(text)

const hasMark = async (bytes: Blob): Promise<boolean> =>
  String(new Uint8Array(await bytes.slice(0, BYTE_ORDER_MARK_BYTES).arrayBuffer())) === '239,187,191'

function headOfCsv(text: string, isWhole: boolean, isMarked: boolean): ListHead | undefined {
  const [header, ...rows] = createCsvReader().push(text, isWhole)
  if (header === undefined || rows.length === 0) return undefined
  const headBytes = new TextEncoder().encode(text.slice(0, header.end)).length + (isMarked ? BYTE_ORDER_MARK_BYTES : 0)
  const columns = header.cells.map((cell) => cell.trim())
  const first = rows.slice(0, PREVIEW_ROWS).map(({ cells }) => ({ cells, isBroken: cells.length !== columns.length }))
  return { format: 'csv', columns, headBytes, first }
}

function headOfLines(text: string, isWhole: boolean): ListHead | undefined {
  const lines = text.split('\n')
  const objects = (isWhole ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== '').map(readLine)
  const columns = [...new Set(objects.flatMap((one) => Object.keys(one ?? {})))]
  if (objects.length === 0 || columns.length === 0) return undefined
  const first = objects.slice(0, PREVIEW_ROWS).map((one) => toRow(one, columns))
  return { format: 'ndjson', columns, headBytes: 0, first }
}

/** The rows behind the header, in parts: reading a file lets the page work in between. */
export async function* readRows(file: File, { format, columns, headBytes }: ListHead): AsyncGenerator<ListRow[]> {
  const csv = createCsvReader()
  let rest = ''
  const parse = (text: string, isLast: boolean): ListRow[] => {
    if (format === 'csv') {
      return csv.push(text, isLast).map(({ cells }) => ({ cells, isBroken: cells.length !== columns.length }))
    }
    const lines = (rest + text).split('\n')
    rest = isLast ? '' : (lines.pop() ?? '')
    return lines.filter((line) => line.trim() !== '').map((line) => toRow(readLine(line), columns))
  }
  const reader = file.slice(headBytes).stream().pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value = '' } = await reader.read()
    yield parse(value, done)
    if (done) return
  }
}

/** The list as it is sent: the columns have the names that the service knows. Null: the column is left out. */
export async function toUpload(file: File, head: ListHead, targets: readonly (string | null)[]): Promise<Blob> {
  if (head.format === 'csv') {
    const header = targets.map((target, place) => target ?? `left out ${place + 1}`)
    return new Blob([toCsvLine(header), file.slice(head.headBytes)])
  }
  const parts: Blob[] = []
  for await (const rows of readRows(file, head)) {
    if (rows.length > 0) parts.push(new Blob([rows.map((row) => toLine(row, targets)).join('')]))
  }
  return new Blob(parts)
}

function toLine({ cells, isBroken }: ListRow, targets: readonly (string | null)[]): string {
  if (isBroken) return 'not an object\n'
  const named = targets.flatMap((target, place) =>
    target === null || cells[place] === undefined ? [] : [[target, cells[place]] as const],
  )
  const fields = named
    .filter(([name]) => name.startsWith(CUSTOM))
    .map(([name, value]) => [name.slice(CUSTOM.length), value])
  const others = named.filter(([name]) => !name.startsWith(CUSTOM))
  const whole = Object.fromEntries(others)
  const custom = { ...Object(whole.custom_fields), ...Object.fromEntries(fields) }
  return `${JSON.stringify({ ...whole, ...(Object.keys(custom).length > 0 && { custom_fields: custom }) })}\n`
}

const CUSTOM = 'custom_fields.'

function readLine(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const toRow = (value: Record<string, unknown> | undefined, columns: readonly string[]): ListRow => ({
  cells: columns.map((column) => value?.[column]),
  isBroken: value === undefined,
})
