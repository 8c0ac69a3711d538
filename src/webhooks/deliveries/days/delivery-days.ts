import type { Db } from '../../../db/connect.ts'
import { isLockTimeout } from '../../../db/pool/failure.ts'
import { dropDeliveryDay, makeDeliveryDays } from './delivery-day-store.ts'

/**
 * Makes the partitions of the days to come, and drops those of days that are over for more than `keepDays` (decisions:
 * Retention). A drop that finds the table in use waits 30 ms at most and is left to the next call.
 */
export async function maintainDeliveryDays(db: Db, keepDays: number): Promise<void> {
  await makeDeliveryDays(db)
  try {
    while (await dropDeliveryDay(db, keepDays)) {
      // One partition in a transaction: its locks are short.
    }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
}
