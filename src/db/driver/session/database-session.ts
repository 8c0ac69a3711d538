import { Socket } from 'node:net'
import type { Client, Submittable } from 'pg'
import { monotonicMs } from '../../../platform/clock.ts'
import { connectionError, withCode } from './connection-error.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { SettingStatement } from './settings.ts'

/** Connections that are older are replaced when they are idle. */
const LIFETIME_MS = 60 * 60 * 1000
/** A session that stays silent for so many waits is closed, although its server answers others. */
const SILENCES_MAX = 5
/** How many checks for silence are made during one wait. */
const CHECKS = 4

/** A session whose last answer is so long ago may wait for a lock: no statement goes behind those that it has. */
const STALLED_MS = 20

/** How a silent server is detected. */
export type Watch = {
  /** How long a statement waits for an answer before the server is probed. */
  answerMs: number
  /** Whether the server of the session answers others. */
  isAlive(): Promise<boolean>
  /** The server does not answer at all: all of its sessions are lost. */
  onSilentServer(): void
}

/** The pool, as its sessions see it. */
export type SessionOwner = {
  onIdle(session: DatabaseSession): void
  onLost(session: DatabaseSession, error: Error): void
}

/**
 * A connection: statements are sent without waiting for the answers to those before. Its state ends with its socket: a session
 * that is lost is never used again.
 */
export class DatabaseSession {
  readonly client: Client
  /** Sets the settings of a transaction, where the connection has no session of its own: that of the server serves others, too. */
  readonly localSettings: SettingStatement | undefined
  readonly statements = new PreparedStatements()
  readonly #expiresAt = monotonicMs() + LIFETIME_MS
  #owner: SessionOwner | undefined
  #inFlight = 0
  /** Time of the last answer, or of the first statement after a pause. */
  #activeAtMs = 0
  /** The transaction that the session is reserved for. */
  #reservation: { onLost(error: Error): void } | undefined
  #isReleased = false
  #error: Error | undefined
  #isCorked = false

  constructor(client: Client, watch: Watch | undefined, localSettings?: SettingStatement) {
    this.client = client
    this.localSettings = localSettings
    client.on('error', (error) => this.destroy(error))
    client.on('end', () => this.destroy(connectionError('CONNECTION_CLOSED', 'The server closed the connection')))
    client.connection.on('readyForQuery', () => this.#onReady())
    if (watch !== undefined) this.#watch(watch)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get isStalled(): boolean {
    return this.#inFlight > 0 && monotonicMs() - this.#activeAtMs > STALLED_MS
  }

  get isReserved(): boolean {
    return this.#reservation !== undefined
  }

  get isExpired(): boolean {
    return monotonicMs() > this.#expiresAt
  }

  belongTo(owner: SessionOwner): void {
    this.#owner = owner
    if (this.#error !== undefined) owner.onLost(this, this.#error)
    else if (this.client.connection.stream.destroyed)
      this.destroy(connectionError('CONNECTION_CLOSED', 'The connection is lost'))
  }

  /** Sends a query of `pg`. Each is answered by exactly one ReadyForQuery. */
  execute(query: Submittable & { handleError(error: Error): void }): void {
    if (this.#error === undefined) {
      if (this.#inFlight === 0) this.#activeAtMs = monotonicMs()
      this.#inFlight += 1
      this.client.query(query)
    } else query.handleError(this.#error)
  }

  /** Until `release`, nothing but the transaction uses the session. */
  reserve(reservation: { onLost(error: Error): void }): void {
    this.#reservation = reservation
    this.#isReleased = false
  }

  /** Ends the reservation when all is answered: a session that the server has ended may only wait for its socket to close. */
  release(): void {
    this.#isReleased = true
    if (this.#inFlight === 0) this.#onIdle()
  }

  /** All messages of this round of the event loop go in one write. */
  corkForNow(): void {
    if (this.#isCorked) return
    const { stream } = this.client.connection
    this.#isCorked = true
    stream.cork()
    process.nextTick(() => {
      this.#isCorked = false
      stream.uncork()
    })
  }

  /** Ends a session that is idle; resolves when its socket is closed, whether or not the server answers. */
  async close(): Promise<void> {
    this.#lose(connectionError('CONNECTION_ENDED', 'The connection is closed'))
    const ended = this.client.end()
    const { stream } = this.client.connection
    if (stream instanceof Socket) stream.destroySoon()
    await ended
  }

  /** Ends it whatever runs on it. */
  destroy(error: Error): void {
    this.#lose(error)
    const { stream } = this.client.connection
    if (!stream.destroyed) stream.destroy(error)
  }

  #lose(reason: Error): void {
    if (this.#error !== undefined) return
    const error = withCode(reason)
    this.#error = error
    const reservation = this.#reservation
    this.#reservation = undefined
    this.#owner?.onLost(this, error)
    reservation?.onLost(error)
  }

  #onReady(): void {
    this.#activeAtMs = monotonicMs()
    this.#inFlight -= 1
    if (this.#inFlight === 0 && (this.#isReleased || this.#reservation === undefined)) this.#onIdle()
  }

  #onIdle(): void {
    if (this.#error !== undefined) return
    this.#reservation = undefined
    if (this.client.getTransactionStatus() === 'I') this.#owner?.onIdle(this)
    else this.destroy(connectionError('CONNECTION_CLOSED', 'A transaction was left open'))
  }

  #watch({ answerMs, isAlive, onSilentServer }: Watch): void {
    const { stream } = this.client.connection
    const silence = { sinceMs: monotonicMs(), bytesRead: 0, count: 0 }
    let isProbing = false
    const check = async () => {
      if (this.#inFlight === 0 || silence.bytesRead !== bytesReadOf(stream)) {
        Object.assign(silence, { sinceMs: monotonicMs(), bytesRead: bytesReadOf(stream), count: 0 })
      }
      if (isProbing || monotonicMs() - silence.sinceMs < answerMs) return
      isProbing = true
      const isServerAlive = await isAlive()
      isProbing = false
      if (this.#error !== undefined || silence.bytesRead !== bytesReadOf(stream)) return
      silence.sinceMs = monotonicMs()
      silence.count += 1
      if (!isServerAlive) onSilentServer()
      else if (silence.count === SILENCES_MAX) this.destroy(connectionError('ETIMEDOUT', 'The session does not answer'))
    }
    const timer = setInterval(check, answerMs / CHECKS).unref()
    this.client.once('end', () => clearInterval(timer))
  }
}

const bytesReadOf = (stream: object): number => ('bytesRead' in stream ? Number(stream.bytesRead) : 0)
