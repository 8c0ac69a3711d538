import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { type Client, escapeLiteral, type Submittable } from 'pg'
import { monotonicMs } from '../../../platform/clock.ts'

const LIFETIME_MS = 60 * 60 * 1000
/** A session silent for this many waits is closed, even if its server answers others. */
const SILENCES_MAX = 5
const CHECKS = 4

/** A session silent for longer may be waiting for a lock: no statement is queued behind. */
const STALLED_MS = 20

export type Watch = {
  /** How long a statement waits before the server is probed. */
  answerMs: number
  isAlive(): Promise<boolean>
  onSilentServer(): void
}

export type SessionOwner = {
  onIdle(session: DatabaseSession): void
  onLost(session: DatabaseSession, error: Error): void
}

/** A pipelining connection. A lost session is never used again. */
export class DatabaseSession {
  readonly client: Client
  /** Transaction settings for pooled connections, which share server sessions. */
  readonly localSettings: SettingStatement | undefined
  readonly statements = new PreparedStatements()
  readonly #expiresAt = monotonicMs() + LIFETIME_MS
  #owner: SessionOwner | undefined
  #inFlight = 0
  #activeAtMs = 0
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

  /** Sends a `pg` query, answered by exactly one ReadyForQuery. */
  execute(query: Submittable & { handleError(error: Error): void }): void {
    if (this.#error === undefined) {
      if (this.#inFlight === 0) this.#activeAtMs = monotonicMs()
      this.#inFlight += 1
      this.client.query(query)
    } else query.handleError(this.#error)
  }

  reserve(reservation: { onLost(error: Error): void }): void {
    this.#reservation = reservation
    this.#isReleased = false
  }

  /** Ends the reservation once everything is answered. */
  release(): void {
    this.#isReleased = true
    if (this.#inFlight === 0) this.#onIdle()
  }

  /** Writes all messages of this event loop round at once. */
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

  /** Closes an idle session; resolves once the socket is closed, even if the server does not answer. */
  async close(): Promise<void> {
    this.#lose(connectionError('CONNECTION_ENDED', 'The connection is closed'))
    const ended = this.client.end()
    const { stream } = this.client.connection
    if (stream instanceof Socket) stream.destroySoon()
    await ended
  }

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

export type Column = { name: string; parse: ((text: string) => unknown) | undefined }

/** `unsure`: the first execution failed, so the server may not know the statement. */
export type PreparedStatement = { readonly name: string; columns: Column[]; state: 'sent' | 'ready' | 'unsure' }

class PreparedStatements {
  readonly #byTypes = new Map<string, Map<string, PreparedStatement>>()
  /** Behind a pooler, connections of several processes share a server session. */
  readonly #prefix = randomBytes(6).toString('base64url')
  #count = 0

  find(text: string, types: readonly number[]): PreparedStatement | undefined {
    return this.#byTypes.get(types.join())?.get(text)
  }

  add(text: string, types: readonly number[]): PreparedStatement {
    const prepared: PreparedStatement = { name: `${this.#prefix}${this.#count}`, columns: [], state: 'sent' }
    this.#count += 1
    const key = types.join()
    const ofTypes = this.#byTypes.get(key) ?? new Map<string, PreparedStatement>()
    this.#byTypes.set(key, ofTypes.set(text, prepared))
    return prepared
  }
}

export type Settings = Readonly<Record<string, string>>

export type SettingStatement = { readonly text: string; readonly values: string[]; readonly literal: string }

/** `set_config` takes every value as text, including lists such as `search_path`. */
export function settingStatement(settings: Settings, { isLocal }: { isLocal: boolean }): SettingStatement {
  const entries = Object.entries(settings)
  const call = (name: string, value: string) => `set_config(${name}, ${value}, ${isLocal})`
  return {
    text: `select ${entries.map((_, i) => call(`$${2 * i + 1}`, `$${2 * i + 2}`)).join(', ')}`,
    values: entries.flat(),
    literal: `select ${entries.map(([name, value]) => call(escapeLiteral(name), escapeLiteral(value))).join(', ')}`,
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
