import type { CopyStream } from './copy.ts'
import {
  type Encoded,
  Identifier,
  type InsertedRow,
  InsertedRows,
  SqlTemplate,
  type TemplateValue,
} from './sql-template.ts'
import {
  type AnyRow,
  type Mode,
  noteOrigin,
  type Result,
  type Rows,
  type Runner,
  Statement,
  startStatement,
} from './statement.ts'
import { JsonParameter, type JsonValue, serialize, typeOf, type Value } from './values.ts'

/** As a tagged template, starts the statement at once, awaited or not. As a call, makes a name or insert rows. */
export type Sql = {
  <T extends readonly unknown[] = AnyRow[]>(
    strings: TemplateStringsArray,
    ...values: readonly TemplateValue[]
  ): Result<T>
  (names: string | readonly string[]): Identifier
  (rows: InsertedRow | readonly InsertedRow[]): InsertedRows
  json(value: JsonValue): JsonParameter
  /** Runs statement text; several statements if there are no parameters. */
  unsafe<T extends readonly unknown[] = AnyRow[]>(
    text: string,
    values?: readonly Value[],
    options?: { prepare?: boolean },
  ): Result<T>
}

export type Transaction = Sql & {
  /** Runs statements whose failure leaves the transaction usable. */
  savepoint<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T>
  /** Commits behind the earlier statements, or rolls back if one of them fails. Later statements are refused. */
  commit(): Promise<unknown>
  copy<T extends CopyStream>(stream: T): T
}

export const sql = Object.assign(
  (strings: TemplateStringsArray, ...values: readonly TemplateValue[]) => new SqlTemplate(strings, values),
  { unsafe: (text: string) => new SqlTemplate([text], []) },
)

class TextStatement<T extends readonly unknown[]> extends Statement<T> {
  readonly #parameters: readonly Value[]

  constructor(text: string, parameters: readonly Value[], mode: Mode) {
    super([text], [], mode)
    this.#parameters = parameters
  }

  override write(): Encoded {
    const [text = ''] = this.strings
    return { text, values: this.#parameters.map(serialize), types: this.#parameters.map(typeOf) }
  }
}

type Names = string | readonly string[]
type First = TemplateStringsArray | Names | InsertedRow | readonly InsertedRow[]

const isTemplate = (first: Exclude<First, string>): first is TemplateStringsArray => 'raw' in first
const isNames = (first: Exclude<First, string>): first is readonly string[] =>
  Array.isArray(first) && !('raw' in first) && typeof first[0] === 'string'
const isRows = (rows: InsertedRow | readonly InsertedRow[]): rows is readonly InsertedRow[] => Array.isArray(rows)

export function createSql(runner: Runner): Sql {
  function db<T extends readonly unknown[]>(
    strings: TemplateStringsArray,
    ...values: readonly TemplateValue[]
  ): Promise<Rows<T>>
  function db(first: Names): Identifier
  function db(first: InsertedRow | readonly InsertedRow[]): InsertedRows
  function db(first: First, ...values: readonly TemplateValue[]): Promise<unknown> | Identifier | InsertedRows {
    if (typeof first === 'string' || isNames(first)) return new Identifier(first)
    if (!isTemplate(first)) return new InsertedRows(isRows(first) ? first : [first])
    noteOrigin(first)
    return startStatement(runner, new Statement(first, values))
  }
  const json = (value: JsonValue) => new JsonParameter(value)
  const unsafe = (text: string, values: readonly Value[] = [], { prepare = false } = {}) => {
    const mode = prepare ? 'prepared' : values.length > 0 ? 'unnamed' : 'simple'
    return startStatement(runner, new TextStatement(text, values, mode))
  }
  return Object.assign(db, { json, unsafe }) as Sql
}
