import type { Db } from '../../../db/connect.ts'
import { isLockTimeout } from '../../../db/pool/failure.ts'
import { dropDeliveryDay, makeDeliveryDays } from './delivery-day-store.ts'

/** Creates and drops partitions (decisions: Retention). A lock timeout leaves a drop to the next call. */
export async function maintainDeliveryDays(db: Db, keepDays: number): Promise<void> {
  await makeDeliveryDays(db)
  try {
    while (await dropDeliveryDay(db, keepDays)) {
      // One partition per transaction keeps locks short.
    }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
}
