import { AppError } from '../../platform/errors.ts'

type Value = string | number | boolean | null | readonly string[]
export type Row = Record<string, Value>

/** Rows as a table, columns aligned under the names of the members; one record as a line for each member. */
export const toTable = (shown: Row | Row[]): string => (Array.isArray(shown) ? rowsOf(shown) : linesOf(shown))

/** An error in one line: the message of a refusal with the fields at fault, else its own. */
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

/** Control characters would move the cursor of the terminal. */
function toCell(value: Value): string {
  const text = typeof value === 'object' ? (value?.join(',') ?? '') : String(value)
  return text === '' ? '-' : text.replaceAll(/\p{Cc}/gu, ' ')
}

function fieldsOf({ body }: AppError): string[] {
  if ('message' in body || typeof body.error === 'string') return []
  const fields = body.error.details?.fields
  // The message of a single fault is that of the error already.
  if (!Array.isArray(fields) || fields.length < 2) return []
  return fields.map((field) => `${field.path} ${field.message}`)
}
