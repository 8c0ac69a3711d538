import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { StartError } from '../../platform/start-error.ts'
import { MIGRATE_LOCK } from '../advisory-locks.ts'
import type { Pool, Transaction } from '../connect.ts'
import { isContention, sqlState } from '../pool/failure.ts'

/** How long other sessions can delay a schema change. */
const LONGEST_MS = 10 * 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/** Only `takeLocks` sets these timeouts. */
const isInTheWay = (error: unknown): boolean =>
  isContention(error) || ['55P03', '57014'].includes(sqlState(error) ?? '')

/**
 * Runs a schema change under the migration lock, retrying for ten minutes while other sessions block it. Throws
 * StartError listing the sessions with the longest transactions.
 */
export async function changeSchema<T>(db: Pool, what: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const startedAtMs = monotonicMs()
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await db.begin(async (tx) => {
        await tx`select pg_advisory_xact_lock(${MIGRATE_LOCK})`
        return await work(tx)
      })
    } catch (error) {
      if (!isInTheWay(error)) throw error
      if (monotonicMs() - startedAtMs > LONGEST_MS) throw await stillLocked(db, what, error)
    }
    await sleep(pauseMs * (0.5 + Math.random()))
  }
}

async function stillLocked(db: Pool, what: string, cause: unknown): Promise<StartError> {
  const rows = await db<{ pid: number; name: string; minutes: number }[]>`
    select pid, application_name as name, round(extract(epoch from now() - xact_start) / 60)::int as minutes
    from pg_stat_activity
    where datname = current_database() and xact_start < now() - interval '10 seconds' and pid <> pg_backend_pid()
    order by xact_start
    limit 5
  `
  const sessions = rows.map(({ pid, name, minutes }) => `session ${pid} (${name}, ${minutes} min)`).join(', ')
  return new StartError(
    `${what} got no lock for ten minutes, and nothing was changed: wait for the longest transactions, or end them` +
      `${sessions && `: ${sessions}`}`,
    cause,
  )
}
