import type { Db } from '../../db/connect.ts'
import type { DirectDispatch, Job } from '../../jobs/job.ts'
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
}

/**
 * Enqueues new messages for the receivers of their companies, in the transaction that writes them (spec: Events). Returns
 * the deliveries that are leased for direct dispatch to the worker, and the others, which wait to be claimed, both from the
 * commit on.
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
  const enqueued = await enqueueDeliveries(tx, envelopes, dispatch)
  return { leased: enqueued.flatMap(toJob), waiting: enqueued.filter(({ claimId }) => claimId === null) }
}

function toJob({ claimId, companyId, deliveryId, registrationId, dueAt, createdAt }: EnqueuedDelivery): Job[] {
  if (claimId === null) return []
  const lane = deliveryLaneOf(companyId, registrationId)
  const job = { id: deliveryId, claimId, kind: DELIVER, lane, companyId, subjectId: deliveryId }
  return [{ ...job, dueAt, attempts: 0, createdAt }]
}
