import type { Db } from '../db/connect.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { type DeliveryRef, insertDeliveries } from './delivery-store.ts'
import { EVENTS } from './registration.ts'

/** The kind of job that makes a delivery's attempts. A registration is a lane. */
export const DELIVER = 'webhook.deliver'

export type Forwarded = { companyId: number; wamid: string; messageId: number | null; body: string }

/**
 * Puts new messages up for the receivers of their companies, in the transaction that writes them (spec: Events).
 * Whoever works wakes the worker after the commit.
 */
export async function forwardMessages(tx: Db, messages: readonly Forwarded[]): Promise<void> {
  const envelopes = messages.map((message) => ({ ...message, event: EVENTS[0] }))
  await enqueueDeliveries(tx, await insertDeliveries(tx, envelopes))
}

/** Makes the jobs of deliveries that have just been put up, on the same transaction. */
export async function enqueueDeliveries(tx: Db, deliveries: readonly DeliveryRef[]): Promise<void> {
  const jobs = deliveries.map(({ companyId, deliveryId, registrationId }) => ({
    kind: DELIVER,
    lane: String(registrationId),
    companyId,
    subjectId: deliveryId,
  }))
  await enqueueJobs(tx, jobs)
}
