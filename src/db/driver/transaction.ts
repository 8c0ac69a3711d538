import { CopyExecution, type CopyStream } from './copy.ts'
import { run } from './execution.ts'
import { ExecutionBatch, isSkipped } from './execution-batch.ts'
import { connectionError } from './session/connection-error.ts'
import type { DatabaseSession } from './session/database-session.ts'
import { createSql, type Transaction } from './sql.ts'
import { type Mode, type Rows, type Runner, Statement } from './statement.ts'

export type BeginOptions = {
  /**
   * Send the first statements together with `begin`. When it fails behind a pooler, they have run without a transaction, so they
   * must be harmless then.
   */
  pipelined?: boolean
}

const command = (text: string, mode?: Mode): Statement => new Statement([text], [], mode)

/** A transaction, which ends with its session. */
class Reservation implements Runner {
  readonly #session: DatabaseSession
  #lost: Error | undefined
  /** The outcome of `commit` or `rollback`, once it is sent. */
  #end: Promise<unknown> | undefined
  /** Statements of this round of the event loop, which are sent at its end. */
  #batch: ExecutionBatch | undefined
  #copy: CopyExecution | undefined
  #hasFailed = false
  #isReleased = false
  #savepoints = 0
  readonly #loss = Promise.withResolvers<never>()

  constructor(session: DatabaseSession) {
    this.#session = session
    this.#loss.promise.catch(() => {})
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
    if (!this.#hasFailed) this.#loss.reject(this.#lost)
  }

  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    return this.#send(statement)
  }

  #send<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    return run(statement, (execution) => {
      if (execution.isSimple) {
        this.#sendBatch()
        execution.start(this.#session)
      } else this.#openBatch().add(execution)
    })
  }

  #openBatch(): ExecutionBatch {
    if (this.#batch === undefined) {
      this.#batch = new ExecutionBatch(this.#session)
      process.nextTick(() => this.#sendBatch())
    }
    return this.#batch
  }

  #sendBatch(): void {
    if (this.#batch !== undefined) this.#session.execute(this.#batch)
    this.#batch = undefined
  }

  copy<T extends CopyStream>(stream: T): T {
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
    this.#sendBatch()
    this.#copy = new CopyExecution(stream)
    this.#session.execute(this.#copy)
    return stream
  }

  #refusal(): Error | undefined {
    if (this.#lost !== undefined) return this.#lost
    // The session may already serve other work.
    const hasEnded = this.#isReleased || this.#end !== undefined
    return hasEnded ? connectionError('TRANSACTION_ENDED', 'The transaction has ended') : undefined
  }

  /** Runs `commit` or `rollback`: nothing is sent after it. */
  end<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const outcome = this.run(statement)
    this.#end ??= outcome
    return outcome
  }

  /** Ends a transaction that has failed, unless its end is already sent. A loss of the session is then no further failure. */
  async rollBack(): Promise<void> {
    if (this.isLost) return
    this.#hasFailed = true
    if (this.#copy?.isAbandoned) this.#session.destroy(connectionError('CONNECTION_CLOSED', 'A copy was abandoned'))
    else if (await this.#isOpen()) await this.#send(command('rollback')).catch(() => {})
  }

  /** Whether the server has not ended the transaction: its end was not sent, or was skipped behind a failed statement. */
  async #isOpen(): Promise<boolean> {
    const end = this.#end
    this.#end ??= Promise.resolve()
    return end === undefined || end.then(() => false, isSkipped)
  }

  release(): void {
    this.#sendBatch()
    this.#isReleased = true
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
  /** Of a savepoint: the scope of its transaction. */
  readonly #outer: Scope | undefined
  #commit: Promise<unknown> | undefined
  #failure: { error: unknown } | undefined

  constructor(transaction: Reservation, outer?: Scope) {
    this.#transaction = transaction
    this.#outer = outer
  }

  run<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const outcome = this.#send(statement)
    outcome.catch((error) => this.#fail(error))
    return outcome
  }

  #send<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    try {
      return this.#transaction.run(statement)
    } catch (error) {
      // At once: the commit may be written right behind it.
      this.#fail(error)
      return Promise.reject(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
  }

  commit(): Promise<unknown> {
    if (this.#outer !== undefined) return this.#outer.commit()
    if (this.#commit === undefined) {
      this.#commit = this.#sendCommit()
      this.#commit.catch(() => {})
    }
    return this.#commit
  }

  /** It is refused when a statement before it could not be sent: the server does not know that this one failed. */
  async #sendCommit(): Promise<void> {
    this.throwFailure()
    await this.#transaction.end(command('commit'))
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** The error of the statement that aborted the transaction, instead of the one that says so. */
  causeOf(error: unknown): unknown {
    return isSkipped(error) && this.#failure !== undefined ? this.#failure.error : error
  }

  async do<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T> {
    const result = await work(this.#createSql())
    this.throwFailure()
    return result
  }

  #createSql(): Transaction {
    const transaction = this.#transaction
    const savepoint = <T>(work: (tx: Transaction) => T | PromiseLike<T>) => this.#savepoint(work)
    const commit = () => this.commit()
    const copy = <T extends CopyStream>(stream: T) => transaction.copy(stream)
    return Object.assign(createSql(this), { savepoint, commit, copy })
  }

  async #savepoint<T>(work: (tx: Transaction) => T | PromiseLike<T>): Promise<T> {
    const name = this.#transaction.nextSavepoint()
    await this.run(command(`savepoint ${name}`))
    const inner = new Scope(this.#transaction, this)
    try {
      return await inner.do(work)
    } catch (error) {
      if (!this.#transaction.isLost) await this.run(command(`rollback to ${name}`))
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
  const { localSettings } = session
  const begin = `begin ${options}`
  const begun = transaction.run(
    localSettings === undefined ? command(begin) : command(`${begin}; ${localSettings.literal}`, 'simple'),
  )
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
    await scope.commit()
    // A statement that nothing waited for has failed before the commit that was sent behind it.
    scope.throwFailure()
    return result
  } catch (error) {
    await transaction.rollBack()
    throw scope.causeOf(error)
  }
}
