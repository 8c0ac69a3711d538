import type { Pool } from '../../src/db/connect.ts'
import { advanceRedelivery } from '../../src/webhooks/deliveries/redelivery/redelivery.ts'

/** Renews the ranges of a company as their job does; returns the number of steps. */
export async function renewAll(db: Pool, companyId: number): Promise<number> {
  const ranges = await db<{ id: number }[]>`select id from redeliveries where company_id = ${companyId} order by id`
  let steps = 0
  for (const { id } of ranges) {
    do steps += 1
    while (await advanceRedelivery({ db, onRenewed: () => {} }, companyId, id))
  }
  return steps
}
