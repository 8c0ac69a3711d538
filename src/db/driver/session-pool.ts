import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import type { Servers } from './servers.ts'
import { connectionError, type DatabaseSession } from './session.ts'

const RETRY_MAX_MS = 1_000

/** Lends each session to one statement or transaction at a time. Opens sessions one after the other. */
export class SessionPool {
  readonly #servers: Servers
  readonly #max: number
  readonly #sessions = new Set<DatabaseSession>()
  readonly #idle: DatabaseSession[] = []
  readonly #waiting: PromiseWithResolvers<DatabaseSession>[] = []
  #isOpening = false
  #closing = 0
  #failures = 0
  #retryAtMs = 0
  #isEnding = false
  readonly #drained = Promise.withResolvers<void>()
  readonly #destroying = new AbortController()

  constructor(servers: Servers, max: number) {
    this.#servers = servers
    this.#max = max
  }

  /** Runs work on an idle session, at once if there is one. Rejects if no connection can be opened. */
  async use<T>(work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    if (this.#isEnding) throw connectionError('CONNECTION_ENDED', 'The pool is closed')
    const session = this.#idle.pop() ?? (await this.#wait())
    try {
      return await work(session)
    } finally {
      session.whenAnswered(() => this.#reuse(session))
    }
  }

  #wait(): Promise<DatabaseSession> {
    const waiting = Promise.withResolvers<DatabaseSession>()
    this.#waiting.push(waiting)
    void this.#openIfNeeded()
    return waiting.promise
  }

  async #openIfNeeded(): Promise<void> {
    if (this.#isOpening || this.#waiting.length === 0 || this.#sessions.size >= this.#max) return
    this.#isOpening = true
    try {
      const { signal } = this.#destroying
      const delayMs = this.#retryAtMs - monotonicMs()
      if (delayMs > 0) await pause(delayMs, undefined, { signal })
      this.#join(await this.#servers.connect(signal))
    } catch (error) {
      this.#onUnreachable(error)
    }
    this.#isOpening = false
    void this.#openIfNeeded()
    this.#checkDrained()
  }

  #join(session: DatabaseSession): void {
    this.#failures = 0
    this.#sessions.add(session)
    session.lost.addEventListener('abort', () => this.#remove(session))
    this.#reuse(session)
  }

  #onUnreachable(error: unknown): void {
    this.#failures += 1
    this.#retryAtMs = monotonicMs() + Math.min(3 ** this.#failures * 10, RETRY_MAX_MS)
    const failing = this.#sessions.size === 0 ? this.#waiting.length : 1
    for (const waiting of this.#waiting.splice(0, failing)) waiting.reject(error)
  }

  #reuse(session: DatabaseSession): void {
    const waiting = session.isExpired ? undefined : this.#waiting.shift()
    if (waiting !== undefined) waiting.resolve(session)
    else if (this.#isEnding || session.isExpired) void this.#close(session)
    else this.#idle.push(session)
  }

  #remove(session: DatabaseSession): void {
    this.#sessions.delete(session)
    const place = this.#idle.indexOf(session)
    if (place >= 0) this.#idle.splice(place, 1)
    void this.#openIfNeeded()
    this.#checkDrained()
  }

  async #close(session: DatabaseSession): Promise<void> {
    this.#closing += 1
    await session.close()
    this.#closing -= 1
    this.#checkDrained()
  }

  /** Accepts no more work, waits for running and waiting work, and closes all sessions; after `timeout` seconds, at once. */
  async end(timeout?: number): Promise<void> {
    this.#isEnding = true
    for (const session of [...this.#idle]) void this.#close(session)
    this.#checkDrained()
    const timer = timeout === undefined ? undefined : setTimeout(() => this.#destroy(), timeout * 1000)
    await this.#drained.promise
    clearTimeout(timer)
  }

  #destroy(): void {
    const error = connectionError('CONNECTION_DESTROYED', 'The pool is closed')
    this.#destroying.abort(error)
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
    for (const session of [...this.#sessions]) session.destroy(error)
    this.#drained.resolve()
  }

  #checkDrained(): void {
    const isOpen = this.#sessions.size > 0 || this.#isOpening || this.#closing > 0
    if (this.#isEnding && !isOpen) this.#drained.resolve()
  }
}
