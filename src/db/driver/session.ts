import { Socket } from 'node:net'
import type { Client, Submittable } from 'pg'
import { monotonicMs } from '../../platform/clock.ts'

const LIFETIME_MS = 60 * 60 * 1000

type Query = Submittable & { handleError(error: Error): void }

/** A connection, used by one statement or transaction at a time. A lost session is never used again. */
export class DatabaseSession {
  readonly client: Client
  /** Sets a transaction's settings: behind a pooler, connections share server sessions. */
  readonly localSettings: string | undefined
  readonly statements = new PreparedStatements()
  readonly #losing = new AbortController()
  readonly #expiresAtMs = monotonicMs() + LIFETIME_MS
  #unanswered = 0
  #onAnswered: (() => void) | undefined

  constructor(client: Client, localSettings: string | undefined) {
    this.client = client
    this.localSettings = localSettings
    client.on('error', (error) => this.destroy(error))
    client.on('end', () => this.destroy(connectionError('CONNECTION_CLOSED', 'The server closed the connection')))
    client.connection.on('readyForQuery', () => this.#onReady())
    if (client.connection.stream.destroyed) this.destroy(connectionError('CONNECTION_CLOSED', 'The connection is lost'))
  }

  /** Aborted once the session is lost or closed. */
  get lost(): AbortSignal {
    return this.#losing.signal
  }

  get isBusy(): boolean {
    return this.#unanswered > 0
  }

  get isExpired(): boolean {
    return monotonicMs() > this.#expiresAtMs
  }

  /** Sends a `pg` query, answered by exactly one ReadyForQuery. */
  send(query: Query): void {
    if (this.lost.aborted) query.handleError(this.lost.reason)
    else {
      this.#unanswered += 1
      this.client.query(query)
    }
  }

  /** Calls `next` once everything is answered; never if the session is lost. */
  whenAnswered(next: () => void): void {
    this.#onAnswered = next
    if (this.#unanswered === 0) this.#becomeIdle()
  }

  #onReady(): void {
    this.#unanswered -= 1
    if (this.#unanswered === 0) this.#becomeIdle()
  }

  #becomeIdle(): void {
    const next = this.#onAnswered
    if (next === undefined || this.lost.aborted) return
    this.#onAnswered = undefined
    if (this.client.getTransactionStatus() === 'I') next()
    else this.destroy(connectionError('CONNECTION_CLOSED', 'A transaction was left open'))
  }

  /** Closes an idle session; resolves once the socket is closed, even if the server does not answer. */
  async close(): Promise<void> {
    this.#losing.abort(connectionError('CONNECTION_ENDED', 'The connection is closed'))
    const ended = this.client.end()
    const { stream } = this.client.connection
    if (stream instanceof Socket) stream.destroySoon()
    await ended
  }

  destroy(error: Error): void {
    this.#losing.abort(withCode(error))
    this.client.connection.stream.destroy(error)
  }
}

export type Column = { name: string; parse: ((text: string) => unknown) | undefined }

/** `columns` are known once the statement has been executed. */
export type PreparedStatement = { readonly name: string; isSent: boolean; columns: readonly Column[] | undefined }

class PreparedStatements {
  readonly #byTypes = new Map<string, Map<string, PreparedStatement>>()
  #count = 0

  /** Returns the statement prepared for a text and its parameter types, or a new one. */
  get(text: string, types: readonly number[]): PreparedStatement {
    const key = types.join()
    const ofTypes = this.#byTypes.get(key) ?? new Map<string, PreparedStatement>()
    const existing = ofTypes.get(text)
    if (existing !== undefined) return existing
    this.#count += 1
    const prepared: PreparedStatement = { name: `s${this.#count}`, isSent: false, columns: undefined }
    this.#byTypes.set(key, ofTypes.set(text, prepared))
    return prepared
  }

  /** Prepares the statement anew next time. */
  forget(text: string, types: readonly number[]): void {
    this.#byTypes.get(types.join())?.delete(text)
  }
}

/** Builds a connection error with a code known to `isDatabaseDown`. */
export const connectionError = (code: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code })

/** Adds a code to `pg` errors without one: a lost connection or refused password. */
export function withCode(error: Error): Error {
  if ('code' in error) return error
  return connectionError(error.message.startsWith('SASL') ? '28P01' : 'CONNECTION_CLOSED', error.message, error)
}
