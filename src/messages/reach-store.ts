import type { Db } from '../db/connect.ts'

/** Removes customers from the daily-limit ledger of a company; their ordinals stay counted. */
export async function eraseReach(db: Db, companyId: number, identities: readonly string[]): Promise<void> {
  await db`
    update sender_reach reach
    set customer = ''
    from senders sender
    where sender.company_id = ${companyId}
      and (reach.company_id, reach.sender_id) = (sender.company_id, sender.id)
      and reach.customer = any(${[...identities]}::text[])
  `
}
