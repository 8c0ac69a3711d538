import type { Db } from '../db/connect.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { DELIVER, type DeliveryRef, insertDeliveries } from './delivery-store.ts'
import { EVENTS } from './registration.ts'

export type Forwarded = { companyId: number; wamid: string; messageId: number | null; body: string }

/**
 * Puts new messages up for the receivers of their companies, in the transaction that writes them (spec: Events).
 * Whoever works wakes the worker after the commit.
 */
export async function forwardMessages(tx: Db, messages: readonly Forwarded[]): Promise<void> {
  await insertDeliveries(
    tx,
    messages.map((message) => ({ ...message, event: EVENTS[0] })),
  )
}

/** Makes new jobs for deliveries that have been put up again, on the same transaction. */
export async function enqueueDeliveries(tx: Db, deliveries: readonly DeliveryRef[]): Promise<void> {
  const jobs = deliveries.map(({ companyId, deliveryId, registrationId }) => ({
    kind: DELIVER,
    lane: String(registrationId),
    companyId,
    subjectId: deliveryId,
  }))
  await enqueueJobs(tx, jobs)
}
