import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../../../platform/clock.ts'
import { connectionError } from './connection-error.ts'
import { DatabaseSession, type SessionOwner } from './database-session.ts'
import type { Servers } from './servers.ts'

/** Statements that wait for answers on one connection. */
const PIPELINE_MAX = 100
/** The longest pause after failed attempts to connect. */
const RETRY_MAX_MS = 1_000

/** A statement, which shares its session, or a transaction, which reserves it when it starts. */
export type Work = {
  /** A transaction waits for an idle session: on another one it would wait for statements that may wait for locks. */
  needsIdle?: boolean
  start(session: DatabaseSession): void
  fail(error: Error): void
}

/**
 * Connections that statements share: a statement goes to an idle one, to a new one, or behind the fewest others where answers
 * arrive. A transaction goes to an idle or a new one. Work that waits for a connection fails with the attempt to open one.
 */
export class SessionPool implements SessionOwner {
  readonly #servers: Servers
  readonly #max: number
  readonly #sessions = new Set<DatabaseSession>()
  readonly #closings = new Set<Promise<void>>()
  readonly #waiting: Work[] = []
  #attempts = 0
  /** The attempts that work waits for. When all waiting work fails with one attempt, the others are no longer among them. */
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
    // Work that waits comes first: it gets the next connection that is idle.
    const session = this.#waiting.length === 0 ? this.#choose(work) : undefined
    if (this.#ended !== undefined) work.fail(connectionError('CONNECTION_ENDED', 'The pool is closed'))
    else if (session !== undefined) work.start(session)
    else {
      this.#waiting.push(work)
      this.#openIfRoom()
    }
  }

  /** Undefined: a new connection is opened, or all are in use. */
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

  /** Accepts no more work, and closes each connection when it is idle; after `timeout` seconds whatever runs on them. */
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
