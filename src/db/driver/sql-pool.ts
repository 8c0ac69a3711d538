import { missingPartition } from '../missing-partition.ts'
import { ContentionError, isContention } from '../pool/failure.ts'
import { run } from './execution.ts'
import { type Listening, listenOn } from './listen-on.ts'
import { SessionPool, type Work as SessionWork } from './session/pool.ts'
import { type ServerOptions, Servers } from './session/servers.ts'
import { createSql, type Sql, type Transaction } from './sql.ts'
import type { Gate, Rows, Runner, Statement } from './statement.ts'
import { type BeginOptions, runTransaction } from './transaction.ts'

type Work<T> = (tx: Transaction) => T | PromiseLike<T>

export type Pool = Sql & {
  /** `isPooled`: connections share sessions of the server, which therefore delivers no notices. */
  readonly options: { readonly max: number; readonly isPooled: boolean }
  begin<T>(work: Work<T>): Promise<T>
  begin<T>(options: string, work: Work<T>, more?: BeginOptions): Promise<T>
  /** Listens on a connection of its own; `onListening` is called each time that listening begins. */
  listen(channel: string, onNotice: (payload: string) => void, onListening?: () => void): Promise<Listening>
  /** The same connections, with a gate before each statement and transaction. */
  gated(gate: () => Gate | undefined): Pool
  /** Accepts no more work and waits for what runs; after `timeout` seconds it ends that, too. */
  end(options?: { timeout?: number }): Promise<void>
}

export type PoolOptions = ServerOptions & { max: number }

/** Opens a pool: a connection is made when it is needed. */
export function openSqlPool(options: PoolOptions): Pool {
  const servers = new Servers(options)
  return createPool(new SessionPool(servers, options.max), servers, options.max, new AbortController())
}

function createPool(
  sessions: SessionPool,
  servers: Servers,
  max: number,
  closing: AbortController,
  gate?: () => Gate | undefined,
): Pool {
  const send = (work: SessionWork) => sessions.add(work)
  const runOnce = <T extends readonly unknown[]>(statement: Statement<T>): Promise<Rows<T>> =>
    run(statement, send, send)
  const createMissing = partitionCreator(createSql({ run: runOnce }))
  const runner: Runner = {
    run: (statement) =>
      runOnce(statement).catch(async (error) => {
        if (await createMissing(error)) return runOnce(statement)
        throw error
      }),
    ...(gate && { gate }),
  }
  const start = <T>(options: string, work: Work<T>, more: BeginOptions): Promise<T> =>
    new Promise((resolve, reject) => {
      sessions.add({
        needsIdle: true,
        start: (session) => resolve(runTransaction(session, options, work, more)),
        fail: reject,
      })
    })
  function begin<T>(first: string | Work<T>, second?: Work<T>, more: BeginOptions = {}): Promise<T> {
    const [options, work] = typeof first === 'string' ? [first.replaceAll(/[^a-z ]/gi, ''), second] : ['', first]
    if (work === undefined) throw new TypeError('A transaction needs its work')
    const run = () =>
      start(options, work, more).catch(async (error) => {
        if (await createMissing(error))
          throw new ContentionError('The partition of a row was missing', { cause: error })
        throw error
      })
    return gate?.()?.(run) ?? run()
  }
  return Object.assign(createSql(runner), {
    options: { max, isPooled: servers.isPooled },
    begin,
    listen: (channel: string, onNotice: (payload: string) => void, onListening: () => void = () => {}) =>
      listenOn(servers, { channel, onNotice, onListening, closing: closing.signal }),
    gated: (own: () => Gate | undefined) => createPool(sessions, servers, max, closing, own),
    end: ({ timeout }: { timeout?: number } = {}) => {
      closing.abort()
      return sessions.end(timeout)
    },
  })
}

/**
 * Creates the partition missing for a failed statement, whatever clock chose the row's day or month; returns whether it did. The
 * statement may then run again, and its transaction begin again.
 */
const partitionCreator =
  (sql: Sql) =>
  async (error: unknown): Promise<boolean> => {
    const missing = missingPartition(error)
    if (missing === undefined) return false
    const create = () => sql`select make_partition(${missing.table}, ${missing.key}::bigint)`
    // The second call waits for the session that was in the way, and finds its partition.
    const created = create().catch((reason) => (isContention(reason) ? create() : Promise.reject(reason)))
    return await created.then(
      () => true,
      () => false,
    )
  }
