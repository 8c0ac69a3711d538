import { type Encoded, SqlTemplate, type TemplateValue, write } from './sql-template.ts'

// Tests read columns without naming their types.
// biome-ignore lint/suspicious/noExplicitAny: a row whose columns nothing names
export type AnyRow = { [column: string]: any }

/** The rows of a statement. `count`: how many rows it returned or wrote. */
export type Rows<T extends readonly unknown[]> = T & { readonly count: number }

/** Delays the start of a statement or transaction. */
export type Gate = <T>(start: () => Promise<T>) => Promise<T>

/** Runs the statements of a `db`: the pool, or a transaction. */
export type Runner = {
  /** @throws what `serialize` throws: then nothing is sent */
  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>>
  /** The gate that a statement waits at: asked where the statement is written, not where it is awaited. */
  gate?(): Gate | undefined
}

/**
 * How a statement is sent. `prepared`: planned once for each connection. `unnamed`: planned each time. `simple`: text without
 * parameters, which may be several statements.
 */
export type Mode = 'prepared' | 'unnamed' | 'simple'

/** A statement, which runs when it is awaited, or a fragment of another one, which never is. */
export class Statement<T extends readonly unknown[] = AnyRow[]> extends SqlTemplate implements Promise<Rows<T>> {
  readonly [Symbol.toStringTag] = 'Statement'
  readonly mode: Mode
  readonly #runner: Runner
  readonly #gate: Gate | undefined
  #outcome: Promise<Rows<T>> | undefined

  constructor(strings: readonly string[], values: readonly TemplateValue[], runner: Runner, mode: Mode = 'prepared') {
    super(strings, values)
    this.mode = mode
    this.#runner = runner
    this.#gate = runner.gate?.()
  }

  /** @throws what `serialize` throws */
  write(): Encoded {
    return write(this)
  }

  /** Runs it without waiting for its rows. */
  execute(): this {
    this.#start()
    return this
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting it runs it
  then<A = Rows<T>, B = never>(
    onRows?: ((rows: Rows<T>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#start().then(onRows, onError)
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Promise
  catch<B = never>(onError?: ((error: any) => B | PromiseLike<B>) | null): Promise<Rows<T> | B> {
    return this.#start().catch(onError)
  }

  finally(onEnd?: (() => void) | null): Promise<Rows<T>> {
    return this.#start().finally(onEnd)
  }

  #start(): Promise<Rows<T>> {
    this.#outcome ??= this.#gate === undefined ? this.#run() : this.#gate(() => this.#run())
    return this.#outcome
  }

  #run(): Promise<Rows<T>> {
    try {
      return this.#runner.run(this)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}
