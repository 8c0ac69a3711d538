import type { CopyStream } from './copy.ts'
import { noteOrigin } from './origin.ts'
import { type Encoded, Identifier, type InsertedRow, InsertedRows, type TemplateValue } from './sql-template.ts'
import { type AnyRow, type Mode, type Runner, Statement } from './statement.ts'
import { JsonParameter, type JsonValue, serialize, typeOf, type Value } from './values.ts'

/** A tagged template makes a statement, or a fragment of one; a call makes a name, or the rows of an insert. */
export type Sql = {
  <T extends readonly unknown[] = AnyRow[]>(
    strings: TemplateStringsArray,
    ...values: readonly TemplateValue[]
  ): Statement<T>
  (names: string | readonly string[]): Identifier
  (rows: InsertedRow | readonly InsertedRow[]): InsertedRows
  json(value: JsonValue): JsonParameter
  /** A statement, or a fragment, from text. Without parameters it may be several statements. */
  unsafe<T extends readonly unknown[] = AnyRow[]>(
    text: string,
    values?: readonly Value[],
    options?: { prepare?: boolean },
  ): Statement<T>
}

export type Transaction = Sql & {
  /** Runs statements whose failure leaves the transaction usable. */
  savepoint<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T>
  /**
   * Commits before the work returns: awaited together with the last statements, the commit is sent right behind them. When
   * one of them fails, the server rolls back instead. Later statements are refused.
   */
  commit(): Statement
  /** Runs a stream of pg-copy-streams. */
  copy<T extends CopyStream>(stream: T): T
}

/** A statement whose parameters are already in its text, as `$1` and so on. */
class TextStatement<T extends readonly unknown[]> extends Statement<T> {
  readonly #parameters: readonly Value[]

  constructor(text: string, parameters: readonly Value[], runner: Runner, mode: Mode) {
    super([text], [], runner, mode)
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
  function sql(strings: TemplateStringsArray, ...values: readonly TemplateValue[]): Statement
  function sql(first: Names): Identifier
  function sql(first: InsertedRow | readonly InsertedRow[]): InsertedRows
  function sql(first: First, ...values: readonly TemplateValue[]): Statement | Identifier | InsertedRows {
    if (typeof first === 'string' || isNames(first)) return new Identifier(first)
    if (!isTemplate(first)) return new InsertedRows(isRows(first) ? first : [first])
    noteOrigin(first)
    return new Statement(first, values, runner)
  }
  const json = (value: JsonValue) => new JsonParameter(value)
  const unsafe = (text: string, values: readonly Value[] = [], { prepare = false } = {}) => {
    const mode = prepare ? 'prepared' : values.length > 0 ? 'unnamed' : 'simple'
    return new TextStatement(text, values, runner, mode)
  }
  return Object.assign(sql, { json, unsafe }) as Sql
}
