import type { Db } from '../db/connect.ts'
import type { RequireUnlocked } from '../db/pool/fair-pool.ts'
import { monotonicMs } from '../platform/clock.ts'
import { companyMoving } from '../platform/errors.ts'

/** Once a company has been locked this long, no process starts a statement for it. */
const TTL_MS = 3_000

/** Creates the lock check; reads the locked companies on demand, at most once in three seconds. */
export function createRequireUnlocked(db: Db): RequireUnlocked {
  let locked: ReadonlySet<number> = new Set()
  let untilMs = 0
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    const startedAtMs = monotonicMs()
    locked = new Set(await findLockedCompanies(db))
    untilMs = startedAtMs + TTL_MS
  }
  const check = (companyId: number): undefined => {
    if (locked.has(companyId)) throw companyMoving()
  }
  return (companyId) => {
    if (monotonicMs() < untilMs) return check(companyId)
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading.then(() => check(companyId))
  }
}

async function findLockedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies where closed_at is not null order by id limit 10000`
  return rows.map(({ id }) => id)
}
