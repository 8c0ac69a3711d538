import type { Db } from '../db/connect.ts'
import type { RequireUnlocked } from '../db/pool/fair-pool.ts'
import { refreshed } from '../platform/cache.ts'
import { companyMoving } from '../platform/errors.ts'

/** Once a company has been locked this long, no process starts a statement for it. */
const TTL_MS = 3_000

/** Creates the lock check; reads the locked companies on demand, at most once in three seconds. */
export function createRequireUnlocked(db: Db): RequireUnlocked {
  const readLocked = refreshed(async (): Promise<ReadonlySet<number>> => new Set(await findLockedCompanies(db)), TTL_MS)
  const check = (locked: ReadonlySet<number>, companyId: number): undefined => {
    if (locked.has(companyId)) throw companyMoving()
  }
  return (companyId) => {
    const locked = readLocked()
    return locked instanceof Promise ? locked.then((ids) => check(ids, companyId)) : check(locked, companyId)
  }
}

async function findLockedCompanies(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies where closed_at is not null order by id limit 10000`
  return rows.map(({ id }) => id)
}
