import { type Connection, Query } from 'pg'
import type { from, to } from 'pg-copy-streams'
import { withCode } from './session.ts'

export type CopyStream = ReturnType<typeof from> | ReturnType<typeof to>

const PgQuery: new (text: string) => object = Query

/** Runs a pg-copy-streams stream. A pipelining client accepts only `Query` subclasses. */
export class CopyExecution extends PgQuery {
  readonly #stream: CopyStream
  #isAnswered = false

  constructor(stream: CopyStream) {
    super('')
    this.#stream = stream
  }

  /** The reader stopped early, so the server would wait for ever. */
  get isAbandoned(): boolean {
    return !this.#isAnswered && this.#stream.destroyed && 'read' in this.#stream
  }

  submit(connection: Connection): null {
    this.#stream.submit(connection)
    return null
  }

  handleCopyInResponse(connection: Connection): void {
    this.#stream.handleCopyInResponse?.(connection)
  }

  handleCommandComplete(message: { text: string }): void {
    this.#isAnswered = true
    this.#stream.handleCommandComplete(message)
  }

  handleReadyForQuery(): void {
    this.#stream.handleReadyForQuery()
  }

  handleError(error: Error): void {
    this.#isAnswered = true
    this.#stream.handleError(withCode(error))
  }
}
