import { escapeIdentifier } from 'pg'
import { JsonParameter, type JsonValue, serialize, typeOf, type Value } from './values.ts'

// Tests read columns without naming their types.
// biome-ignore lint/suspicious/noExplicitAny: a row whose columns nothing names
export type AnyRow = { [column: string]: any }

export type Rows<T extends readonly unknown[]> = T & { readonly count: number }

declare const ofOneStatement: unique symbol
/** The mark lets types refuse functions that run several statements. */
export type Result<T extends readonly unknown[] = AnyRow[]> = Promise<Rows<T>> & { readonly [ofOneStatement]: true }

/** As a tagged template, starts the statement at once, awaited or not. As a call, quotes names. */
export type Sql = {
  <T extends readonly unknown[] = AnyRow[]>(
    strings: TemplateStringsArray,
    ...values: readonly TemplateValue[]
  ): Result<T>
  (names: string | readonly string[]): Identifier
  json(value: JsonValue): JsonParameter
  /** Runs statement text; several statements if there are no parameters. */
  unsafe<T extends readonly unknown[] = AnyRow[]>(
    text: string,
    values?: readonly Value[],
    options?: { prepare?: boolean },
  ): Result<T>
}

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

export type TemplateValue = Value | SqlTemplate | readonly SqlTemplate[] | Identifier

/** Builds a fragment for other templates. */
export const sql = Object.assign(
  (strings: TemplateStringsArray, ...values: readonly TemplateValue[]) => new SqlTemplate(strings, values),
  { unsafe: (text: string) => new SqlTemplate([text], []) },
)

export type Statement = {
  /** `prepared`: planned once per connection. `unnamed`: planned each time. `simple`: parameterless, may be several. */
  readonly mode: 'prepared' | 'unnamed' | 'simple'
  /** Throws RangeError for too many parameters, and as `serialize`. */
  encode(): Encoded
  /** Its error has the stack of the place where the statement is written: socket errors have no useful one. */
  readonly origin?: Error
}

export type Encoded = { text: string; values: (string | Buffer | null)[]; types: number[] }

export function createSql(run: (statement: Statement) => Promise<unknown>): Sql {
  const db = (first: TemplateStringsArray | string | readonly string[], ...values: readonly TemplateValue[]) => {
    if (typeof first === 'string' || !('raw' in first)) return new Identifier(first)
    return run({ mode: 'prepared', encode: () => encode(new SqlTemplate(first, values)), origin: originOf(first) })
  }
  const json = (value: JsonValue) => new JsonParameter(value)
  const unsafe = (text: string, values: readonly Value[] = [], { prepare = false } = {}) =>
    run({
      mode: prepare ? 'prepared' : values.length > 0 ? 'unnamed' : 'simple',
      encode: () => ({ text, values: values.map(serialize), types: values.map(typeOf) }),
    })
  // The row types are claimed by the statements' authors, unchecked.
  return Object.assign(db, { json, unsafe }) as unknown as Sql
}

export const command = (text: string, mode: Statement['mode'] = 'prepared'): Statement => ({
  mode,
  encode: () => ({ text, values: [], types: [] }),
})

const origins = new WeakMap<readonly string[], Error>()

function originOf(strings: readonly string[]): Error {
  const origin = origins.get(strings) ?? new Error('written')
  origins.set(strings, origin)
  return origin
}

/** The protocol counts them in two bytes. */
const PARAMETERS_MAX = 65_535

function encode(template: SqlTemplate): Encoded {
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
    if (isFragments(value)) return value.map((fragment) => textOf(fragment, encoded)).join(' ')
  }
  encoded.types.push(typeOf(value as Value))
  return `$${encoded.values.push(serialize(value as Value))}`
}

const isFragments = (value: object): value is readonly SqlTemplate[] =>
  Array.isArray(value) && value[0] instanceof SqlTemplate

export const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const toCamelCase = (name: string): string =>
  name.replaceAll(/(?<=.)_(.)/g, (_, letter: string) => letter.toUpperCase())
