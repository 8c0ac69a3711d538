import { type Connection, Query } from 'pg'
import type { Execution } from './execution.ts'
import { connectionError } from './session/connection-error.ts'
import type { DatabaseSession } from './session/database-session.ts'

/** A pipelining client of `pg` takes no other class. */
const PgQuery: new (text: string) => object = Query

/** The SQLSTATE of a statement in a transaction of which an earlier one has failed. */
const ABORTED = '25P02'

/** Whether a statement has not run, since an earlier one of its transaction has failed. */
export const isSkipped = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === ABORTED

/**
 * Statements of a transaction that are sent at once, as a query of `pg`. They share one Sync: the server answers all of them in one
 * write, and skips those behind a failed one. With a Sync for each, every statement has a write, and the client a read.
 */
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
