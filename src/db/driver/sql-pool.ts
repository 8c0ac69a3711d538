import { ContentionError, errorMember, isContention, sqlState } from '../pool/failure.ts'
import { type Listening, listenOn } from './listen-on.ts'
import { execute, isOutdated } from './query.ts'
import { type ServerOptions, Servers } from './servers.ts'
import { SessionPool } from './session-pool.ts'
import { createSql, type Sql, type Statement } from './sql.ts'
import { type BeginOptions, runTransaction, type Work } from './transaction.ts'

/** Lets work start, or rejects without starting it. */
type Gate = <T>(start: () => Promise<T>) => Promise<T>

export type Pool = Sql & {
  /** `isPooled`: connections share server sessions, so no notices arrive. */
  readonly options: { readonly max: number; readonly isPooled: boolean }
  begin<T>(work: Work<T>): Promise<T>
  begin<T>(options: string, work: Work<T>, more?: BeginOptions): Promise<T>
  /** Calls `onListening` whenever listening begins: earlier notices are lost. */
  listen(channel: string, onNotice: (payload: string) => void, onListening?: () => void): Promise<Listening>
  gated(gate: () => Gate | undefined): Pool
  /** Accepts no more work and waits for running work; after `timeout` seconds, ends it. */
  end(options?: { timeout?: number }): Promise<void>
}

type PoolOptions = ServerOptions & { max: number }

export function openSqlPool(options: PoolOptions): Pool {
  const servers = new Servers(options)
  return createPool(new SessionPool(servers, options.max), servers, options.max, new AbortController())
}

function createPool(
  sessions: SessionPool,
  servers: Servers,
  max: number,
  closing: AbortController,
  gate: () => Gate | undefined = () => undefined,
): Pool {
  const pass: Gate = (start) => gate()?.(start) ?? start()
  const runOnce = (statement: Statement) => sessions.use((session) => execute(session, statement))
  const createMissing = partitionCreator(createSql(runOnce))
  const run = (statement: Statement) =>
    runOnce(statement).catch(async (error) => {
      if (statement.mode === 'prepared' && isOutdated(error)) return runOnce({ ...statement, mode: 'unnamed' })
      if (await createMissing(error)) return runOnce(statement)
      throw error
    })
  function begin<T>(first: string | Work<T>, second?: Work<T>, more: BeginOptions = {}): Promise<T> {
    const [options, work] = typeof first === 'string' ? [first.replaceAll(/[^a-z ]/gi, ''), second] : ['', first]
    if (work === undefined) throw new TypeError('A transaction needs its work')
    return pass(() =>
      sessions
        .use((session) => runTransaction(session, options, work, more))
        .catch(async (error) => {
          if (await createMissing(error))
            throw new ContentionError('The partition of a row was missing', { cause: error })
          throw error
        }),
    )
  }
  return Object.assign(
    createSql((statement) => pass(() => run(statement))),
    {
      options: { max, isPooled: servers.isPooled },
      begin,
      listen: (channel: string, onNotice: (payload: string) => void, onListening: () => void = () => {}) =>
        listenOn(servers, { channel, onNotice, onListening, closing: closing.signal }),
      gated: (own: () => Gate | undefined) => createPool(sessions, servers, max, closing, own),
      end: ({ timeout }: { timeout?: number } = {}) => {
        closing.abort()
        return sessions.end(timeout)
      },
    },
  )
}

/** Creates the partition missing for a failed statement; returns whether the statement can run again. */
const partitionCreator =
  (sql: Sql) =>
  async (error: unknown): Promise<boolean> => {
    const missing = missingPartition(error)
    if (missing === undefined) return false
    const create = () => sql`select make_partition(${missing.table}, ${missing.key}::bigint)`
    // The second call waits for the conflicting session and finds its partition.
    const created = create().catch((reason) => (isContention(reason) ? create() : Promise.reject(reason)))
    return await created.then(
      () => true,
      () => false,
    )
  }

type MissingPartition = { table: string; key: number }

/** Returns the partition missing for a row; undefined for any other error. */
function missingPartition(error: unknown): MissingPartition | undefined {
  if (sqlState(error) !== '23514' || errorMember(error, 'constraint') !== undefined) return undefined
  const table = errorMember(error, 'table')
  const key = /= \((\d+)\)/.exec(errorMember(error, 'detail') ?? '')?.[1]
  return table === undefined || key === undefined ? undefined : { table, key: Number(key) }
}
