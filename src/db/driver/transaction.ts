import { CopyExecution, type CopyStream } from './copy.ts'
import { ExecutionBatch, isSkipped, run } from './execution.ts'
import { connectionError, type DatabaseSession } from './session/database-session.ts'
import { createSql, type Transaction } from './sql.ts'
import { type Mode, type Rows, type Runner, Statement } from './statement.ts'

export type BeginOptions = {
  /** Send the first statements with `begin`. Must be harmless: behind a pooler, they run even if `begin` fails. */
  pipelined?: boolean
}

const command = (text: string, mode?: Mode): Statement => new Statement([text], [], mode)

class Reservation implements Runner {
  readonly #session: DatabaseSession
  #lost: Error | undefined
  #end: Promise<unknown> | undefined
  /** Statements of this event loop round, sent together at the end. */
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

  end<T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> {
    const outcome = this.run(statement)
    this.#end ??= outcome
    return outcome
  }

  /** Losing the session during a rollback is no further failure. */
  async rollBack(): Promise<void> {
    if (this.isLost) return
    this.#hasFailed = true
    if (this.#copy?.isAbandoned) this.#session.destroy(connectionError('CONNECTION_CLOSED', 'A copy was abandoned'))
    else if (await this.#isOpen()) await this.#send(command('rollback')).catch(() => {})
  }

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
      // Fail at once: a commit may follow right behind.
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

  /** Refused when an earlier statement could not be sent: the server does not know about that failure. */
  async #sendCommit(): Promise<void> {
    this.throwFailure()
    await this.#transaction.end(command('commit'))
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

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

/** Runs a transaction on a reserved session. Rejects at once when the session is lost. */
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
    // An unawaited statement may have failed before the commit sent behind it.
    scope.throwFailure()
    return result
  } catch (error) {
    await transaction.rollBack()
    throw scope.causeOf(error)
  }
}
