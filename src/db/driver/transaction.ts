import { connectionError } from './connection-error.ts'
import { CopyExecution, type CopyStream } from './copy.ts'
import type { DatabaseSession } from './database-session.ts'
import { run } from './execution.ts'
import { createSql, type Transaction } from './sql.ts'
import { type Rows, type Runner, Statement } from './statement.ts'

export type BeginOptions = {
  /**
   * Send the first statements together with `begin`. When it fails, they have run without a transaction, so they must be
   * harmless then.
   */
  pipelined?: boolean
}

const ABORTED = '25P02'

/** A transaction, which ends with its session. */
class Reservation implements Runner {
  readonly #session: DatabaseSession
  #lost: Error | undefined
  #hasEnded = false
  #savepoints = 0
  readonly #loss = Promise.withResolvers<never>()
  readonly commit: Statement

  constructor(session: DatabaseSession) {
    this.#session = session
    this.#loss.promise.catch(() => {})
    this.commit = this.#last('commit')
    session.reserve(this)
  }

  get loss(): Promise<never> {
    return this.#loss.promise
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  onLost(error: Error): void {
    this.#lost ??= error
    this.#loss.reject(this.#lost)
  }

  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    return run(statement, (execution) => execution.start(this.#session))
  }

  copy<T extends CopyStream>(stream: T): T {
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
    this.#session.execute(new CopyExecution(stream))
    return stream
  }

  #refusal(): Error | undefined {
    // By now the session may be another's.
    return (
      this.#lost ?? (this.#hasEnded ? connectionError('TRANSACTION_ENDED', 'The transaction has ended') : undefined)
    )
  }

  /** A statement behind which nothing is sent. */
  #last(text: string): Statement {
    const runner: Runner = {
      run: (statement) => {
        const outcome = this.run(statement)
        this.#hasEnded = true
        return outcome
      },
    }
    return new Statement([text], [], runner, 'simple')
  }

  /** Ends a transaction that has failed, unless its end has been sent. */
  async rollBack(): Promise<void> {
    if (!this.isLost) await (this.commit.isStarted ? this.commit : this.#last('rollback')).catch(() => {})
  }

  release(): void {
    this.#hasEnded = true
    this.#session.release()
  }

  nextSavepoint(): string {
    this.#savepoints += 1
    return `s${this.#savepoints}`
  }
}

/** Runs the statements of a transaction or savepoint, which fails with its first failed statement, awaited or not. */
class Scope implements Runner {
  readonly #transaction: Reservation
  #failure: { error: unknown } | undefined

  constructor(transaction: Reservation) {
    this.#transaction = transaction
  }

  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const outcome = this.#transaction.run(statement)
    outcome.catch((error: unknown) => {
      this.#failure ??= { error }
    })
    return outcome
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** The error of the statement that aborted the transaction, instead of the one that says so. */
  causeOf(error: unknown): unknown {
    const isFollowing = error instanceof Error && 'code' in error && error.code === ABORTED
    return isFollowing && this.#failure !== undefined ? this.#failure.error : error
  }

  async do<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T> {
    const result = await work(this.#createSql())
    this.throwFailure()
    return result
  }

  #createSql(): Transaction {
    const transaction = this.#transaction
    const savepoint = <T>(work: (tx: Transaction) => T | PromiseLike<T>) => this.#savepoint(work)
    const commit = () => transaction.commit
    const copy = <T extends CopyStream>(stream: T) => transaction.copy(stream)
    return Object.assign(createSql(this), { savepoint, commit, copy })
  }

  async #savepoint<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T> {
    const name = this.#transaction.nextSavepoint()
    const send = (text: string) => new Statement([text], [], this, 'simple')
    await send(`savepoint ${name}`)
    const inner = new Scope(this.#transaction)
    try {
      return await inner.do(work)
    } catch (error) {
      if (!this.#transaction.isLost) await send(`rollback to ${name}`)
      throw inner.causeOf(error)
    }
  }
}

/**
 * Runs a transaction on a session that nothing else uses meanwhile. Rejects at once when the session is lost; statements that
 * the work sends later are refused.
 */
export async function runTransaction<T>(
  session: DatabaseSession,
  options: string,
  work: (tx: Transaction) => T | PromiseLike<T>,
  { pipelined = false }: BeginOptions,
): Promise<T> {
  const transaction = new Reservation(session)
  const begun = transaction.run(new Statement([`begin ${options}`], [], transaction, 'simple'))
  try {
    if (pipelined) begun.catch((error) => transaction.onLost(error))
    else await begun
    return await Promise.race([perform(transaction, work), transaction.loss])
  } finally {
    transaction.release()
  }
}

async function perform<T>(transaction: Reservation, work: (tx: Transaction) => T | PromiseLike<T>): Promise<T> {
  const scope = new Scope(transaction)
  try {
    const result = await scope.do(work)
    await transaction.commit
    // A statement that nothing waited for has failed before the commit that was sent behind it.
    scope.throwFailure()
    return result
  } catch (error) {
    await transaction.rollBack()
    throw scope.causeOf(error)
  }
}
