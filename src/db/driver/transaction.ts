import { CopyExecution, type CopyStream } from './copy.ts'
import { Execution, StatementBatch } from './query.ts'
import { connectionError, type DatabaseSession } from './session.ts'
import { command, createSql, type Sql, type Statement } from './sql.ts'

export type BeginOptions = {
  /** Send the first statements with `begin`. Must be harmless: behind a pooler, they run even if `begin` fails. */
  pipelined?: boolean
}

export type Transaction = Sql & {
  /** Runs statements whose failure leaves the transaction usable. */
  savepoint<T>(work: Work<T>): Promise<T>
  /** Commits behind the earlier statements, or rolls back if one of them fails. Later statements are refused. */
  commit(): Promise<unknown>
  copy<T extends CopyStream>(stream: T): T
}

export type Work<T> = (tx: Transaction) => T | PromiseLike<T>

/** Runs a transaction on a session of its own. Rejects at once when the session is lost. */
export async function runTransaction<T>(
  session: DatabaseSession,
  options: string,
  work: Work<T>,
  { pipelined = false }: BeginOptions,
): Promise<T> {
  const line = new Line(session)
  const scope = new Scope(line)
  const loss = Promise.withResolvers<never>()
  loss.promise.catch(() => {})
  const onLost = () => loss.reject(session.lost.reason)
  session.lost.addEventListener('abort', onLost)
  try {
    const begun = scope.run(beginStatement(session, options))
    if (!pipelined) await begun
    return await Promise.race([scope.complete(work), loss.promise])
  } catch (error) {
    await line.rollBack()
    throw scope.causeOf(error)
  } finally {
    session.lost.removeEventListener('abort', onLost)
  }
}

function beginStatement({ localSettings }: DatabaseSession, options: string): Statement {
  const begin = `begin ${options}`
  return localSettings === undefined ? command(begin) : command(`${begin}; ${localSettings}`, 'simple')
}

/** Sends the statements of a transaction, those of one event loop round together. */
class Line {
  readonly #session: DatabaseSession
  #batch: Execution[] = []
  #copy: CopyExecution | undefined
  #commit: Promise<unknown> | undefined
  #hasEnded = false
  #savepoints = 0

  constructor(session: DatabaseSession) {
    this.#session = session
  }

  /** Throws if the transaction is lost or has ended. */
  requireOpen(): void {
    this.#session.lost.throwIfAborted()
    // The session may already serve other work.
    if (this.#hasEnded) throw connectionError('TRANSACTION_ENDED', 'The transaction has ended')
  }

  /** Throws if a value can't be sent. */
  send(statement: Statement): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const execution = new Execution(statement, resolve, reject)
    if (execution.isSimple) {
      this.#flush()
      this.#session.send(new StatementBatch(this.#session, [execution]))
    } else {
      if (this.#batch.length === 0) process.nextTick(() => this.#flush())
      this.#batch.push(execution)
    }
    return promise
  }

  #flush(): void {
    if (this.#batch.length > 0) this.#session.send(new StatementBatch(this.#session, this.#batch))
    this.#batch = []
  }

  copy<T extends CopyStream>(stream: T): T {
    this.requireOpen()
    this.#flush()
    this.#copy = new CopyExecution(stream)
    this.#session.send(this.#copy)
    return stream
  }

  async commit(): Promise<void> {
    if (this.#commit === undefined) this.requireOpen()
    this.#commit ??= this.send(command('commit'))
    this.#hasEnded = true
    await this.#commit
  }

  /** Losing the session meanwhile is no further failure. */
  async rollBack(): Promise<void> {
    this.#hasEnded = true
    const isCommitted = await this.#commit?.then(
      () => true,
      () => false,
    )
    if (isCommitted) return
    if (this.#copy?.isAbandoned) this.#session.destroy(connectionError('CONNECTION_CLOSED', 'A copy was abandoned'))
    // Sent by itself: with other statements, it would be skipped after a failed one.
    await this.send(command('rollback', 'simple')).catch(() => {})
  }

  nextSavepoint(): string {
    this.#savepoints += 1
    return `s${this.#savepoints}`
  }
}

const ABORTED = '25P02'

/** Runs the statements of a transaction or savepoint, which fails with its first failed statement, awaited or not. */
class Scope {
  readonly #line: Line
  readonly #outer: Scope | undefined
  #failure: { error: unknown } | undefined

  constructor(line: Line, outer?: Scope) {
    this.#line = line
    this.#outer = outer
  }

  run(statement: Statement): Promise<unknown> {
    const outcome = this.#send(statement)
    outcome.catch((error) => this.#fail(error))
    return outcome
  }

  #send(statement: Statement): Promise<unknown> {
    try {
      this.#line.requireOpen()
      this.#throwFailure()
      return this.#line.send(statement)
    } catch (error) {
      // Fail at once: a commit may follow right behind, and the server does not know about this failure.
      this.#fail(error)
      return Promise.reject(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Returns the first failure for a statement skipped after it. */
  causeOf(error: unknown): unknown {
    const isSkipped = error instanceof Error && 'code' in error && error.code === ABORTED
    return isSkipped && this.#failure !== undefined ? this.#failure.error : error
  }

  async complete<T>(work: Work<T>): Promise<T> {
    const result = await work(this.#createTransaction())
    await this.#commit()
    // An unawaited statement may have failed before the commit sent behind it.
    this.#throwFailure()
    return result
  }

  async #commit(): Promise<void> {
    if (this.#outer !== undefined) return this.#outer.#commit()
    this.#throwFailure()
    await this.#line.commit()
  }

  #createTransaction(): Transaction {
    const savepoint = <T>(work: Work<T>) => this.#savepoint(work)
    const commit = () => this.#commit()
    const copy = <T extends CopyStream>(stream: T) => this.#line.copy(stream)
    return Object.assign(
      createSql((statement) => this.run(statement)),
      { savepoint, commit, copy },
    )
  }

  async #savepoint<T>(work: Work<T>): Promise<T> {
    const name = this.#line.nextSavepoint()
    await this.run(command(`savepoint ${name}`))
    const inner = new Scope(this.#line, this)
    try {
      const result = await work(inner.#createTransaction())
      inner.#throwFailure()
      return result
    } catch (error) {
      await this.run(command(`rollback to ${name}`, 'simple'))
      throw inner.causeOf(error)
    }
  }
}
