import { escapeIdentifier } from 'pg'
import { serialize, typeOf, type Value } from './values.ts'

export class SqlTemplate {
  readonly strings: readonly string[]
  readonly values: readonly TemplateValue[]
  constructor(strings: readonly string[], values: readonly TemplateValue[]) {
    this.strings = strings
    this.values = values
  }
}

export class Identifier {
  readonly text: string
  constructor(names: string | readonly string[]) {
    this.text = typeof names === 'string' ? escapeIdentifier(names) : names.map(escapeIdentifier).join(',')
  }
}

export class InsertedRows {
  readonly rows: readonly InsertedRow[]
  constructor(rows: readonly InsertedRow[]) {
    this.rows = rows
  }
}
export type InsertedRow = { readonly [column: string]: Value }

export type TemplateValue = Value | SqlTemplate | readonly SqlTemplate[] | Identifier | InsertedRows

export type Encoded = { text: string; values: (string | Buffer | null)[]; types: number[] }

/** The protocol counts them in two bytes. */
const PARAMETERS_MAX = 65_535

/** Renders a template as one text with parameters. Throws RangeError for too many parameters, and as `serialize`. */
export function write(template: SqlTemplate): Encoded {
  const encoded: Encoded = { text: '', values: [], types: [] }
  encoded.text = textOf(template, encoded)
  if (encoded.values.length > PARAMETERS_MAX) {
    throw new RangeError(`A statement has at most ${PARAMETERS_MAX} parameters`)
  }
  return encoded
}

function textOf({ strings, values }: SqlTemplate, encoded: Encoded): string {
  let text = strings[0] ?? ''
  for (let i = 0; i < values.length; i += 1) {
    text += partOf(values[i] as TemplateValue, encoded) + strings[i + 1]
  }
  return text
}

function partOf(value: TemplateValue, encoded: Encoded): string {
  if (typeof value === 'object' && value !== null) {
    if (value instanceof SqlTemplate) return textOf(value, encoded)
    if (value instanceof Identifier) return value.text
    if (value instanceof InsertedRows) return insertedText(value.rows, encoded)
    if (isFragments(value)) return value.map((fragment) => textOf(fragment, encoded)).join(' ')
  }
  return parameter(value as Value, encoded)
}

const isFragments = (value: object): value is readonly SqlTemplate[] =>
  Array.isArray(value) && value[0] instanceof SqlTemplate

function parameter(value: Value, { values, types }: Encoded): string {
  types.push(typeOf(value))
  return `$${values.push(serialize(value))}`
}

function insertedText(rows: readonly InsertedRow[], encoded: Encoded): string {
  const members = Object.keys(rows[0] ?? {})
  const columns = members.map((member) => escapeIdentifier(toSnakeCase(member)))
  const lines = rows.map((row) => `(${members.map((member) => parameter(row[member] as Value, encoded)).join(',')})`)
  return `(${columns.join(',')}) values ${lines.join(',')}`
}

export const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const toCamelCase = (name: string): string =>
  name.replaceAll(/(?<=.)_(.)/g, (_, letter: string) => letter.toUpperCase())
