import { type Connection, DatabaseError, Query } from 'pg'
import { type Column, type DatabaseSession, type PreparedStatement, withCode } from './session.ts'
import { command, type Encoded, type Statement, toCamelCase } from './sql.ts'
import { parserOf } from './values.ts'

/** Runs one statement outside of a transaction. */
export function execute(session: DatabaseSession, statement: Statement): Promise<RowList> {
  const { promise, resolve, reject } = Promise.withResolvers<RowList>()
  const execution = new Execution(statement, resolve, reject)
  const settings = session.localSettings
  if (settings === undefined) session.send(new StatementBatch(session, [execution]))
  else if (execution.isSimple) session.send(new StatementBatch(session, [execution], `${settings}; `))
  else
    session.send(
      new StatementBatch(session, [
        new Execution(
          command(settings),
          () => {},
          () => {},
        ),
        execution,
      ]),
    )
  return promise
}

/** A statement, and its answer as it arrives. */
export class Execution {
  readonly #statement: Statement
  readonly #encoded: Encoded
  readonly #resolve: (rows: RowList) => void
  readonly #reject: (error: Error) => void
  #prepared: PreparedStatement | undefined
  #columns: readonly Column[] = []
  #rows = new RowList()
  #answer = this.#rows
  #rowError: Error | undefined

  /** Throws what `encode` throws: then nothing is sent. */
  constructor(statement: Statement, resolve: (rows: RowList) => void, reject: (error: Error) => void) {
    this.#statement = statement
    this.#encoded = statement.encode()
    this.#resolve = resolve
    this.#reject = reject
  }

  get isSimple(): boolean {
    return this.#statement.mode === 'simple'
  }

  get text(): string {
    return this.#encoded.text
  }

  send(connection: Connection, session: DatabaseSession): void {
    const { text, types, values } = this.#encoded
    // Behind a pooler, another server session may run it the next time.
    const isPrepared = this.#statement.mode === 'prepared' && session.localSettings === undefined
    this.#prepared = isPrepared ? session.statements.get(text, types) : undefined
    const name = this.#prepared?.name ?? ''
    if (this.#prepared?.isSent !== true) {
      connection.parse({ name, text, types: types.map(String) }, true)
      connection.describe({ type: 'S', name }, true)
    }
    if (this.#prepared !== undefined) this.#prepared.isSent = true
    connection.bind({ statement: name, values }, true)
    connection.execute(null, true)
  }

  describe(fields: Fields): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name: toCamelCase(name), parse: parserOf(dataTypeID) }))
    if (this.#prepared !== undefined) this.#prepared.columns = this.#columns
  }

  addRow(fields: (string | null)[]): void {
    const columns = this.#prepared?.columns ?? this.#columns
    const row: Record<string, unknown> = {}
    try {
      for (let i = 0; i < fields.length; i += 1) {
        const [text, column] = [fields[i], columns[i]]
        if (column === undefined) throw new Error('A row has more columns than its statement')
        row[column.name] = typeof text !== 'string' || column.parse === undefined ? text : column.parse(text)
      }
    } catch (error) {
      this.#rowError ??= error instanceof Error ? error : new Error(String(error))
    }
    this.#rows.push(row)
  }

  /** With several statements in one text, the last one's rows are the answer. */
  complete(tag: string): void {
    if (this.#prepared !== undefined) this.#prepared.columns ??= []
    this.#answer = this.#rows
    this.#answer.complete(tag)
    if (this.isSimple) this.#rows = new RowList()
  }

  settle(): void {
    if (this.#rowError === undefined) this.#resolve(this.#answer)
    else this.#reject(this.#rowError)
  }

  fail(error: Error, session: DatabaseSession): void {
    const { text, types } = this.#encoded
    if (this.#prepared?.columns === undefined || isOutdated(error)) session.statements.forget(text, types)
    const frames = this.#statement.origin?.stack?.split('\n').slice(3)
    if (error instanceof DatabaseError && frames !== undefined) error.stack = [error.message, ...frames].join('\n')
    this.#reject(error)
  }
}

/** Server routines that reject a missing or outdated prepared statement, before running it. */
const OUTDATED = ['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr']

/** Returns whether a prepared statement must be prepared again. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof DatabaseError && OUTDATED.includes(error.routine ?? '')

class RowList extends Array<object> {
  #tag = ''

  static override get [Symbol.species]() {
    return Array
  }

  get count(): number {
    return Number(this.#tag.slice(this.#tag.lastIndexOf(' ') + 1)) || 0
  }

  complete(tag: string): void {
    this.#tag = tag
  }
}

type Fields = { name: string; dataTypeID: number }[]

/** A pipelining client accepts only `Query` subclasses. */
const PgQuery: new (text: string) => object = Query

/** Statements sent with one Sync: a Sync each would cost a server write and a client read per statement. */
export class StatementBatch extends PgQuery {
  readonly #session: DatabaseSession
  readonly #executions: readonly Execution[]
  readonly #prefix: string
  #completed = 0

  /** @param prefix runs before the text of a simple statement */
  constructor(session: DatabaseSession, executions: readonly Execution[], prefix = '') {
    super('')
    this.#session = session
    this.#executions = executions
    this.#prefix = prefix
  }

  get #current(): Execution | undefined {
    return this.#executions[this.#completed]
  }

  submit(connection: Connection): null {
    connection.stream.cork()
    if (this.#current?.isSimple) connection.query(this.#prefix + this.#current.text)
    else {
      for (const execution of this.#executions) execution.send(connection, this.#session)
      connection.sync()
    }
    connection.stream.uncork()
    return null
  }

  handleRowDescription({ fields }: { fields: Fields }): void {
    this.#current?.describe(fields)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#current?.addRow(fields)
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#current?.complete(text)
    if (!this.#current?.isSimple) this.#completed += 1
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  handleReadyForQuery(): void {
    for (const execution of this.#executions) execution.settle()
  }

  /** An error behind the last statement is one of its commit. */
  handleError(reason: Error): void {
    const error = withCode(reason)
    const failing = Math.min(this.#completed, this.#executions.length - 1)
    for (const execution of this.#executions.slice(0, failing)) execution.settle()
    for (const execution of this.#executions.slice(failing)) execution.fail(error, this.#session)
  }
}
