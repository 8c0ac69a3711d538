import { expect, onTestFinished } from 'vitest'
import { type ConnectOptions, connect, type Pool } from '../src/db/connect.ts'
import { isDatabaseDown } from '../src/db/pool/failure.ts'
import { type Cut, startCutProxy } from './cut-proxy.ts'
import { createTestDatabase } from './database.ts'
import { until } from './parley-process.ts'

// The expectations of the service for its connections (docs/decisions/0014-pg-below-a-pool-of-our-own.md). An error that is thrown outside
// of every statement fails the run by itself.
export const MAX = 3

export async function expectWhole(pool: Pool): Promise<void> {
  const pids = new Set<number>()
  // As many at once as there are connections, each of which has to answer for itself.
  const holders = Array.from({ length: pool.options.max }, () =>
    pool.begin(async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      pids.add(row!.pid)
      await until('all connections are in use', () => pids.size === pool.options.max)
    }),
  )
  await Promise.all(holders)
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  await pool.end()
}

export const failureOf = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    (result) => expect.fail(`succeeded: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  )

export async function expectDown(work: PromiseLike<unknown>): Promise<void> {
  const error = await failureOf(work)
  expect(isDatabaseDown(error), String(error)).toBe(true)
}

/** A database, and pools whose way to its server can be cut. */
export async function startCuttable() {
  const { db, url } = await createTestDatabase()
  await db`create table notes (writer text not null, xid xid8 not null default pg_current_xact_id())`
  /** A pool whose way to the server can be cut; it has to be whole again, and to close by itself, when the test ends. */
  async function cuttable(options: ConnectOptions = {}) {
    const proxy = await startCutProxy(url)
    const pool = connect(proxy.url, { max: MAX, ...options })
    onTestFinished(() => pool.end({ timeout: 0 }))
    return { proxy, pool }
  }
  const isWorking = (marker: string) => async () =>
    (
      await db`select from pg_stat_activity where state = 'active' and query like ${`%${marker}%`} and pid <> pg_backend_pid()`
    ).length > 0
  /** Ends the connections of the pool's backends: the server says 57P01 and hangs up. */
  const terminate = () => db`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name like 'parley %' and client_port is not null
    and query not like '%pg_stat_activity%'
`
  const losses: [string, (proxy: { cut(how: Cut): void }) => unknown][] = [
    ['is closed', (proxy) => proxy.cut('fin')],
    ['is reset', (proxy) => proxy.cut('rst')],
    ['is terminated by the server', terminate],
  ]
  return { db, url, cuttable, isWorking, terminate, losses }
}
