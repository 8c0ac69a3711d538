import { DatabaseError } from 'pg'
import { type Encoded, SqlTemplate, type TemplateValue, write } from './sql-template.ts'

// Tests read columns without naming their types.
// biome-ignore lint/suspicious/noExplicitAny: a row whose columns nothing names
export type AnyRow = { [column: string]: any }

export type Rows<T extends readonly unknown[]> = T & { readonly count: number }

declare const ofOneStatement: unique symbol
/** The mark lets types refuse functions that run several statements. */
export type Result<T extends readonly unknown[] = AnyRow[]> = Promise<Rows<T>> & { readonly [ofOneStatement]: true }

export type Gate = <T>(start: () => Promise<T>) => Promise<T>

export type Runner = {
  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>>
  gate?(): Gate | undefined
}

/** `prepared`: planned once per connection. `unnamed`: planned each time. `simple`: parameterless, may be several. */
export type Mode = 'prepared' | 'unnamed' | 'simple'

export class Statement<T extends readonly unknown[] = AnyRow[]> extends SqlTemplate {
  declare readonly rows: T
  readonly mode: Mode

  constructor(strings: readonly string[], values: readonly TemplateValue[], mode: Mode = 'prepared') {
    super(strings, values)
    this.mode = mode
  }

  write(): Encoded {
    return write(this)
  }
}

/** Starts a statement at once, behind its runner's gate. Rejects when it can't be sent. */
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

/** Socket errors have no useful stack. */
const origins = new WeakMap<readonly string[], Error>()

export function noteOrigin(strings: readonly string[]): void {
  if (!origins.has(strings)) origins.set(strings, new Error('written'))
}

/** Appends the statement's source position to a database error's stack. */
export function addOrigin(error: Error, strings: readonly string[]): Error {
  const frames = origins.get(strings)?.stack?.split('\n').slice(3)
  if (error instanceof DatabaseError && frames !== undefined) error.stack = [`${error.message}`, ...frames].join('\n')
  return error
}
