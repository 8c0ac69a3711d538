import { recordPreferences } from '../../contacts/consent/contact-event-store.ts'
import { listRecipients } from '../../conversations/recording/recipient-store.ts'
import type { Db } from '../../db/connect.ts'

/**
 * Records the opt-outs of customers who have stopped marketing at the provider, as refusals of sends report them. Returns the
 * contacts whose consent changed.
 */
export async function recordOptOuts(
  tx: Db,
  refused: readonly { companyId: number; messageId: number }[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  const recipients = await listRecipients(
    tx,
    refused.map(({ companyId, messageId: id }) => ({ companyId, id })),
  )
  const byMessage = Map.groupBy(recipients, ({ companyId, messageId }) => `${companyId} ${messageId}`)
  const preferences = [...byMessage.values()].flatMap((own) => {
    const [first] = own
    if (first === undefined) return []
    const { companyId, messageId } = first
    const identities = own.map(({ identity }) => identity)
    return [{ companyId, identities, value: false, saidAt: at, eventId: `refused ${messageId}`, arrivedAt: at }]
  })
  return recordPreferences(tx, preferences)
}
