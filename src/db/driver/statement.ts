import { type Encoded, SqlTemplate, type TemplateValue, write } from './sql-template.ts'

// Tests read columns without naming their types.
// biome-ignore lint/suspicious/noExplicitAny: a row whose columns nothing names
export type AnyRow = { [column: string]: any }

/** The rows of a statement. `count`: how many rows it returned or wrote. */
export type Rows<T extends readonly unknown[]> = T & { readonly count: number }

declare const ofOneStatement: unique symbol
/** The rows of a statement that has started. The mark lets types refuse what runs several statements. */
export type Result<T extends readonly unknown[] = AnyRow[]> = Promise<Rows<T>> & { readonly [ofOneStatement]: true }

/** Delays the start of a statement or transaction. */
export type Gate = <T>(start: () => Promise<T>) => Promise<T>

/** Runs the statements of a `db`: the pool, or a transaction. */
export type Runner = {
  /** @throws what `serialize` throws: then nothing is sent */
  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>>
  /** The gate that statements wait at. */
  gate?(): Gate | undefined
}

/**
 * How a statement is sent. `prepared`: planned once for each connection. `unnamed`: planned each time. `simple`: text without
 * parameters, which may be several statements.
 */
export type Mode = 'prepared' | 'unnamed' | 'simple'

/** A statement as a runner takes it; `T` is the type of its rows. */
export class Statement<T extends readonly unknown[] = AnyRow[]> extends SqlTemplate {
  declare readonly rows: T
  readonly mode: Mode

  constructor(strings: readonly string[], values: readonly TemplateValue[], mode: Mode = 'prepared') {
    super(strings, values)
    this.mode = mode
  }

  /** @throws what `serialize` throws */
  write(): Encoded {
    return write(this)
  }
}

/** Starts a statement at once, behind the gate of its runner. Rejects when it can't be sent. */
export function startStatement<T extends readonly unknown[]>(
  runner: Runner,
  statement: Statement<T>,
): Promise<Rows<T>> {
  const send = (): Promise<Rows<T>> => {
    try {
      return runner.run(statement)
    } catch (error) {
      return Promise.reject(error)
    }
  }
  return runner.gate?.()?.(send) ?? send()
}
