import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../../../platform/clock.ts'
import { connectionError, DatabaseSession, type SessionOwner } from './database-session.ts'
import type { Servers } from './servers.ts'

/** Unanswered statements per connection. */
const PIPELINE_MAX = 100
const RETRY_MAX_MS = 1_000

export type Work = {
  /** On a shared session, a transaction would wait behind statements that may wait for locks. */
  needsIdle?: boolean
  start(session: DatabaseSession): void
  fail(error: Error): void
}

/**
 * A statement runs on an idle connection, a new one, or behind the fewest others; a transaction on an idle or new one.
 */
export class SessionPool implements SessionOwner {
  readonly #servers: Servers
  readonly #max: number
  readonly #sessions = new Set<DatabaseSession>()
  readonly #closings = new Set<Promise<void>>()
  readonly #waiting: Work[] = []
  #attempts = 0
  /** Connection attempts that waiting work depends on. */
  #awaited = new Set<symbol>()
  #failures = 0
  #retryAtMs = 0
  #ended: Promise<void> | undefined
  readonly #drained = Promise.withResolvers<void>()
  readonly #destroying = new AbortController()

  constructor(servers: Servers, max: number) {
    this.#servers = servers
    this.#max = max
  }

  add(work: Work): void {
    const session = this.#waiting.length === 0 ? this.#choose(work) : undefined
    if (this.#ended !== undefined) work.fail(connectionError('CONNECTION_ENDED', 'The pool is closed'))
    else if (session !== undefined) work.start(session)
    else {
      this.#waiting.push(work)
      this.#openIfRoom()
    }
  }

  #choose({ needsIdle = false }: Work): DatabaseSession | undefined {
    let least: DatabaseSession | undefined
    for (const session of this.#sessions) {
      if (session.isReserved) continue
      if (session.inFlight === 0) return session
      if (needsIdle || session.isStalled) continue
      if (least === undefined || session.inFlight < least.inFlight) least = session
    }
    if (this.#hasRoom() || least === undefined || least.inFlight >= PIPELINE_MAX) return undefined
    return least
  }

  #hasRoom(): boolean {
    return this.#sessions.size + this.#attempts < this.#max
  }

  #openIfRoom(): void {
    if (this.#hasRoom() && this.#waiting.length > this.#awaited.size) void this.#open()
  }

  async #open(): Promise<void> {
    const attempt = Symbol()
    this.#attempts += 1
    this.#awaited.add(attempt)
    const opened = await this.#connect()
    this.#attempts -= 1
    const isAwaited = this.#awaited.delete(attempt)
    if (opened instanceof DatabaseSession) return this.#join(opened)
    if (isAwaited) this.#onUnreachable(opened)
    this.#openIfRoom()
    this.#checkDrained()
  }

  async #connect(): Promise<DatabaseSession | Error> {
    const { signal } = this.#destroying
    try {
      const delayMs = this.#retryAtMs - monotonicMs()
      if (delayMs > 0) await pause(delayMs, undefined, { signal })
      return await this.#servers.connect(signal)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  #join(session: DatabaseSession): void {
    this.#failures = 0
    this.#retryAtMs = 0
    this.#sessions.add(session)
    session.belongTo(this)
    this.onIdle(session)
  }

  #onUnreachable(error: Error): void {
    this.#failures += 1
    this.#retryAtMs = monotonicMs() + Math.min(3 ** this.#failures * 10, RETRY_MAX_MS)
    const areAllLost = this.#sessions.size === 0
    if (areAllLost) this.#awaited.clear()
    for (const work of this.#waiting.splice(0, areAllLost ? this.#waiting.length : 1)) work.fail(error)
  }

  onIdle(session: DatabaseSession): void {
    if (!this.#sessions.has(session)) return
    const isOver = this.#ended !== undefined && this.#waiting.length === 0
    if (isOver || session.isExpired) this.#close(session)
    else this.#serve(session)
  }

  #serve(session: DatabaseSession): void {
    let share = Math.min(Math.ceil(this.#waiting.length / (this.#attempts + 1)), PIPELINE_MAX)
    while (share > 0 && !session.isReserved && !(this.#waiting[0]?.needsIdle && session.inFlight > 0)) {
      this.#waiting.shift()?.start(session)
      share -= 1
    }
  }

  onLost(session: DatabaseSession): void {
    this.#sessions.delete(session)
    this.#openIfRoom()
    this.#checkDrained()
  }

  #close(session: DatabaseSession): void {
    const closing = session.close().finally(() => {
      this.#closings.delete(closing)
      this.#checkDrained()
    })
    this.#closings.add(closing)
  }

  /** Accepts no more work and closes idle connections; after `timeout` seconds, all. */
  end(timeout?: number): Promise<void> {
    this.#ended ??= this.#drained.promise
    for (const session of [...this.#sessions]) {
      if (session.inFlight === 0 && !session.isReserved) this.onIdle(session)
    }
    this.#checkDrained()
    if (timeout === undefined) return this.#ended
    const timer = setTimeout(() => this.#destroy(), timeout * 1000)
    return this.#ended.finally(() => clearTimeout(timer))
  }

  #destroy(): void {
    const error = connectionError('CONNECTION_DESTROYED', 'The pool is closed')
    this.#destroying.abort(error)
    for (const work of this.#waiting.splice(0)) work.fail(error)
    for (const session of [...this.#sessions]) session.destroy(error)
    this.#drained.resolve()
  }

  #checkDrained(): void {
    const open = this.#sessions.size + this.#attempts + this.#closings.size
    if (this.#ended !== undefined && open === 0) this.#drained.resolve()
  }
}
