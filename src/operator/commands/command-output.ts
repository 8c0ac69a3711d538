import { AppError } from '../../platform/errors.ts'

type Value = string | number | boolean | null | readonly string[]
export type Row = Record<string, Value>

/** Formats rows as an aligned table; a single record gets one line per member. */
export const toTable = (shown: Row | Row[]): string => (Array.isArray(shown) ? rowsOf(shown) : linesOf(shown))

/** Formats an error as one line, with the invalid fields if there are several. */
export function toErrorLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  const fields = error instanceof AppError ? fieldsOf(error) : []
  return `error: ${[message, ...fields].join('; ').replaceAll(/[\s\p{Cc}]+/gu, ' ')}`
}

function rowsOf(rows: Row[]): string {
  if (rows[0] === undefined) return 'none\n'
  const names = Object.keys(rows[0])
  return align([names, ...rows.map((row) => names.map((name) => toCell(row[name] ?? null)))])
}

const linesOf = (row: Row): string => align(Object.entries(row).map(([name, value]) => [name, toCell(value)]))

function align(lines: string[][]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const toLine = (line: string[]) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return lines.map((line) => `${toLine(line).trimEnd()}\n`).join('')
}

/** Control characters could move the terminal's cursor. */
function toCell(value: Value): string {
  const text = typeof value === 'object' ? (value?.join(',') ?? '') : String(value)
  return text === '' ? '-' : text.replaceAll(/\p{Cc}/gu, ' ')
}

function fieldsOf({ body }: AppError): string[] {
  if ('message' in body || typeof body.error === 'string') return []
  const fields = body.error.details?.fields
  // A single fault is already in the error message.
  if (!Array.isArray(fields) || fields.length < 2) return []
  return fields.map((field) => `${field.path} ${field.message}`)
}
