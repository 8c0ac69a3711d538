import { type Connection, Query } from 'pg'
import {
  type Column,
  connectionError,
  type DatabaseSession,
  type PreparedStatement,
  withCode,
} from './session/database-session.ts'
import { type Encoded, toCamelCase } from './sql-template.ts'
import { addOrigin, type Rows, type Statement } from './statement.ts'
import { parserOf } from './values.ts'

type Fields = { fields: { name: string; dataTypeID: number }[] }

/** A pipelining client accepts only `Query` subclasses. */
const PgQuery: new (text: string) => object = Query

/** Server routines that reject a missing or outdated prepared statement, which must be prepared again. */
const OUTDATED = ['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr']

const routineOf = (error: Error): string => ('routine' in error ? String(error.routine) : '')

class Execution extends PgQuery {
  readonly #statement: Statement<readonly unknown[]>
  readonly #encoded: Encoded
  readonly #resolve: (rows: RowList) => void
  readonly #reject: (error: Error) => void
  readonly #retry: ((execution: Execution) => void) | undefined
  #session: DatabaseSession | undefined
  #prepared: PreparedStatement | undefined
  #isReused = false
  #columns: Column[] = []
  #rows = new RowList()
  #firstError: Error | undefined
  #rowError: Error | undefined
  /** The first answer belongs to the transaction settings. */
  #isSetting = false

  /** @param retry sends an outdated prepared statement again. Absent: the statement fails */
  constructor(
    statement: Statement<readonly unknown[]>,
    resolve: (rows: RowList) => void,
    reject: (error: Error) => void,
    retry?: (execution: Execution) => void,
  ) {
    const encoded = statement.write()
    super(encoded.text)
    this.#statement = statement
    this.#encoded = encoded
    this.#resolve = resolve
    this.#reject = reject
    this.#retry = retry
  }

  get isSimple(): boolean {
    return this.#statement.mode === 'simple'
  }

  start(session: DatabaseSession): void {
    this.#session = session
    session.execute(this)
  }

  fail(error: Error): void {
    this.#reject(addOrigin(this.#firstError ?? error, this.#statement.strings))
  }

  submit(connection: Connection): null {
    this.#session?.corkForNow()
    // A transaction has set them at `begin`.
    const settings = this.#session?.isReserved ? undefined : this.#session?.localSettings
    this.#isSetting = settings !== undefined
    if (this.#statement.mode === 'simple') {
      connection.query(settings === undefined ? this.#encoded.text : `${settings.literal}; ${this.#encoded.text}`)
      return null
    }
    if (settings !== undefined) {
      connection.parse({ name: '', text: settings.text, types: [] }, true)
      connection.bind({ statement: '', values: settings.values }, true)
      connection.execute(null, true)
    }
    this.send(connection, this.#session)
    connection.sync()
    return null
  }

  /** Sends without the Sync, so further statements can follow. */
  send(connection: Connection, session: DatabaseSession | undefined): void {
    this.#session = session
    // A second attempt may run on another session, and any statement behind a pooler: neither can be prepared.
    const isPrepared =
      this.#statement.mode === 'prepared' &&
      this.#firstError === undefined &&
      this.#session?.localSettings === undefined
    const name = isPrepared ? this.#prepare(connection) : this.#parse(connection, '')
    connection.bind({ statement: name, values: this.#encoded.values }, true)
    connection.execute(null, true)
  }

  #prepare(connection: Connection): string {
    const { text, types } = this.#encoded
    const statements = this.#session?.statements
    const existing = statements?.find(text, types)
    this.#isReused = existing !== undefined && existing.state !== 'unsure'
    this.#prepared = existing ?? statements?.add(text, types)
    const name = this.#prepared?.name ?? ''
    if (this.#isReused || this.#prepared === undefined) return name
    if (existing !== undefined) connection.close({ type: 'S', name }, true)
    this.#prepared.state = 'sent'
    return this.#parse(connection, name)
  }

  #parse(connection: Connection, name: string): string {
    const { text, types } = this.#encoded
    connection.parse({ name, text, types: types.map(String) }, true)
    connection.describe({ type: 'S', name }, true)
    return name
  }

  handleRowDescription({ fields }: Fields): void {
    if (this.#isSetting) return
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name: toCamelCase(name), parse: parserOf(dataTypeID) }))
    if (this.#prepared !== undefined) {
      this.#prepared.columns = this.#columns
      this.#prepared.state = 'ready'
    }
    // With several statements in one text, the last one's rows are the result.
    this.#rows = new RowList()
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.#isSetting) return
    const columns = this.#prepared === undefined ? this.#columns : this.#prepared.columns
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

  handleCommandComplete({ text }: { text: string }): void {
    if (this.#isSetting) {
      this.#isSetting = false
      return
    }
    if (this.#prepared?.state === 'sent') this.#prepared.state = 'ready'
    this.#rows.complete(text)
  }

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    if (this.#rowError === undefined) this.#resolve(this.#rows)
    else this.fail(this.#rowError)
  }

  handleError(reason: Error): void {
    const error = withCode(reason)
    const isOutdated = this.#isReused && OUTDATED.includes(routineOf(error))
    if (this.#prepared !== undefined && (isOutdated || this.#prepared.state === 'sent')) this.#prepared.state = 'unsure'
    if (isOutdated && this.#retry !== undefined) {
      this.#firstError = error
      this.#prepared = undefined
      this.#isReused = false
      this.#rows = new RowList()
      this.#retry(this)
    } else this.fail(error)
  }
}

/** Runs a statement. `retry` sends an outdated one again. Throws what `serialize` throws: then nothing is sent. */
export function run<T extends readonly unknown[]>(
  statement: Statement<T>,
  send: (execution: Execution) => void,
  retry?: (execution: Execution) => void,
): Promise<Rows<T>> {
  const { promise, resolve, reject } = Promise.withResolvers<Rows<T>>()
  // The row type is claimed by the statement's author, unchecked.
  send(new Execution(statement, resolve as unknown as (rows: RowList) => void, reject, retry))
  return promise
}

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

const ABORTED = '25P02'

/** Returns whether a statement was skipped after an earlier failure in its transaction. */
export const isSkipped = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === ABORTED

/** Statements sent with one Sync: a Sync each would cost a server write and a client read per statement. */
export class ExecutionBatch extends PgQuery {
  readonly #session: DatabaseSession
  readonly #executions: Execution[] = []

  constructor(session: DatabaseSession) {
    super('')
    this.#session = session
  }

  add(execution: Execution): void {
    this.#executions.push(execution)
  }

  submit(connection: Connection): null {
    this.#session.corkForNow()
    for (const execution of this.#executions) execution.send(connection, this.#session)
    connection.sync()
    return null
  }

  handleRowDescription(message: Parameters<Execution['handleRowDescription']>[0]): void {
    this.#executions[0]?.handleRowDescription(message)
  }

  handleDataRow(message: Parameters<Execution['handleDataRow']>[0]): void {
    this.#executions[0]?.handleDataRow(message)
  }

  handleCommandComplete(message: { text: string }): void {
    const execution = this.#executions.shift()
    execution?.handleCommandComplete(message)
    execution?.handleReadyForQuery()
  }

  handleEmptyQuery(): void {
    this.#executions.shift()?.handleReadyForQuery()
  }

  handleReadyForQuery(): void {}

  handleError(error: Error): void {
    this.#executions.shift()?.handleError(error)
    for (const execution of this.#executions.splice(0))
      execution.handleError(connectionError(ABORTED, 'A statement before it in its transaction has failed'))
  }
}
