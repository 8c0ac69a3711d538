import type { Pool } from '../db/connect.ts'
import { recordStatuses } from './status-store.ts'
import { claimWaiting } from './waiting-status-store.ts'

/** Records the statuses that came before their message was known, where it is by now; answers how many. */
export function applyWaitingStatuses(db: Pool, at: Date): Promise<number> {
  return db.begin(async (tx) => {
    const known = await claimWaiting(tx)
    await recordStatuses(tx, known, at)
    return known.length
  })
}
