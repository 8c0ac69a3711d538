import { type Connection, Query } from 'pg'
import type { Execution } from './execution.ts'
import { connectionError } from './session/connection-error.ts'
import type { DatabaseSession } from './session/database-session.ts'

const PgQuery: new (text: string) => object = Query

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
