import type { Pool } from '../../db/connect.ts'
import type { RecordEvents } from '../../record-change.ts'
import { recordStatuses, toStatusChange } from './status-store.ts'
import { claimWaiting } from './waiting-status-store.ts'

/** Records waiting statuses whose message exists by now; returns the messages that changed. */
export async function applyWaitingStatuses(
  { db, recordEvents }: { db: Pool; recordEvents: RecordEvents },
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  return db.begin(async (tx) => {
    const moved = await recordStatuses(tx, await claimWaiting(tx), at)
    await recordEvents.publish(tx, moved.map(toStatusChange))
    return moved
  })
}
