import type { Pool } from '../db/connect.ts'
import { recordStatuses } from './status-store.ts'
import { claimWaiting } from './waiting-status-store.ts'

/** Records waiting statuses whose message is known by now; returns the messages that changed. */
export const applyWaitingStatuses = (db: Pool, at: Date): Promise<{ companyId: number; id: number }[]> =>
  db.begin(async (tx) => recordStatuses(tx, await claimWaiting(tx), at))
