import type { Db } from '../../db/connect.ts'
import type { DirectDispatch, Job } from '../../queue/job.ts'
import { type DeliveryRef, enqueueDeliveries, type StartedAttempt } from '../deliveries/delivery-store.ts'
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

/** A delivery that is leased for direct dispatch, and its first attempt, which starts with the commit. */
export type LeasedDelivery = { job: Job; attempt: StartedAttempt }

/**
 * Enqueues new messages for the receivers of their companies, in the transaction that writes them (spec: Events). Returns
 * the deliveries that are leased for direct dispatch to the worker, and the others, which wait to be claimed, both from the
 * commit on.
 */
export async function forwardMessages(
  tx: Db,
  messages: readonly Forwarded[],
  dispatch?: DirectDispatch,
): Promise<{ leased: LeasedDelivery[]; waiting: DeliveryRef[] }> {
  const envelopes = messages.map(({ wamid, senderId, ...message }) => ({
    ...message,
    event: MESSAGE_RECEIVED,
    eventId: wamid,
    channelIds: [senderId],
  }))
  const bodies = new Map(messages.map(({ companyId, wamid, body }) => [`${companyId} ${wamid}`, body]))
  const forwarded: { leased: LeasedDelivery[]; waiting: DeliveryRef[] } = { leased: [], waiting: [] }
  for (const delivery of await enqueueDeliveries(tx, envelopes, dispatch)) {
    const { companyId, deliveryId, registrationId, eventId } = delivery
    const body = bodies.get(`${companyId} ${eventId}`)
    if (delivery.claimId === null || body === undefined) {
      forwarded.waiting.push(delivery)
      continue
    }
    const { claimId, dueAt, createdAt, url, method, staticHeaders, secret } = delivery
    const lane = deliveryLaneOf(companyId, registrationId)
    const job = { id: deliveryId, claimId, kind: DELIVER, lane, companyId, subjectId: deliveryId }
    const ref = { companyId, deliveryId, registrationId }
    const attempt = { ...ref, ...FIRST, event: MESSAGE_RECEIVED, eventId, body, url, method, staticHeaders, secret }
    forwarded.leased.push({ job: { ...job, dueAt, attempts: 0, createdAt }, attempt })
  }
  return forwarded
}

const FIRST = { round: 1, attempt: 1, waits: false }
