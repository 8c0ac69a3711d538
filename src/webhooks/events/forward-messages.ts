import type { Db } from '../../db/connect.ts'
import type { DirectDispatch, Job } from '../../queue/job.ts'
import { type DeliveryRef, type EnqueuedDelivery, enqueueDeliveries } from '../deliveries/delivery-store.ts'
import { DELIVER, deliveryLaneOf } from '../deliveries/delivery-table.ts'
import { MESSAGE_RECEIVED } from './message-received.ts'

export type Forwarded = {
  companyId: number
  senderId: number
  conversationId: number | null
  wamid: string
  messageId: number | null
  body: string
  people?: readonly string[]
}

/**
 * Enqueues new messages for their companies' receivers, in the transaction that writes them (spec: Events). Returns deliveries
 * leased for direct dispatch and deliveries waiting for a claim, both valid after the commit.
 */
export async function forwardMessages(
  tx: Db,
  messages: readonly Forwarded[],
  dispatch?: DirectDispatch,
): Promise<{ leased: Job[]; waiting: DeliveryRef[] }> {
  const envelopes = messages.map(({ wamid, senderId, ...message }) => ({
    ...message,
    event: MESSAGE_RECEIVED,
    eventId: wamid,
    channelIds: [senderId],
  }))
  const deliveries = await enqueueDeliveries(tx, envelopes, dispatch)
  return { leased: deliveries.flatMap(toJob), waiting: deliveries.filter(({ claimId }) => claimId === null) }
}

function toJob({ companyId, deliveryId, registrationId, claimId, dueAt, createdAt }: EnqueuedDelivery): Job[] {
  if (claimId === null) return []
  const lane = deliveryLaneOf(companyId, registrationId)
  return [
    { id: deliveryId, claimId, kind: DELIVER, lane, companyId, subjectId: deliveryId, dueAt, attempts: 0, createdAt },
  ]
}
