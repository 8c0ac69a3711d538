import { expect, onTestFinished, vi } from 'vitest'
import type { Db, Pool } from '../src/db/connect.ts'

/** Waits until a session of the database waits for a lock: one with this application name, if it is given. */
export const untilBlocked = (db: Pool, applicationName?: string): Promise<void> =>
  vi.waitFor(
    async () => {
      const blocked = await db<{ applicationName: string }[]>`
      select application_name from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
      const names = blocked.map((session) => session.applicationName)
      expect(names).toContainEqual(applicationName ?? expect.any(String))
    },
    { timeout: 60_000 },
  )

/** Ends the sessions that wait for a lock: those of a killed process would go on once they get it. */
export async function endBlocked(db: Pool): Promise<void> {
  await db`
    select pg_terminate_backend(pid, 60000) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `
}

/** Runs work, or a statement, in a transaction that stays open; returns what rolls it back, which the end of the test does too. */
export async function holdOpen(db: Pool, work: string | ((tx: Db) => Promise<unknown>)): Promise<() => Promise<void>> {
  const isHeld = Promise.withResolvers<void>()
  const isReleased = Promise.withResolvers<void>()
  const rolledBack = new Error('rolled back')
  const holding = db
    .begin(async (tx) => {
      await (typeof work === 'string' ? tx.unsafe(work) : work(tx))
      isHeld.resolve()
      await isReleased.promise
      throw rolledBack
    })
    .catch((error) => {
      isHeld.reject(error)
      if (error !== rolledBack) throw error
    })
  await isHeld.promise
  const release = async () => {
    isReleased.resolve()
    await holding
  }
  onTestFinished(release)
  return release
}
