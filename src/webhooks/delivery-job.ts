import type { Db } from '../db/connect.ts'
import type { Job, Offer } from '../jobs/job.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { DELIVER, type DeliveryRef, insertDeliveries, type PutUp } from './delivery-store.ts'
import { EVENTS } from './registration.ts'

export type Forwarded = { companyId: number; wamid: string; messageId: number | null; body: string }

/**
 * Puts new messages up for the receivers of their companies, in the transaction that writes them (spec: Events). Answers
 * the jobs that were taken up by the offer, for its worker, and how many others wait to be claimed, both from the commit
 * on.
 */
export async function forwardMessages(
  tx: Db,
  messages: readonly Forwarded[],
  offer?: Offer,
): Promise<{ taken: Job[]; waiting: number }> {
  const envelopes = messages.map((message) => ({ ...message, event: EVENTS[0] }))
  const putUp = await insertDeliveries(tx, envelopes, offer)
  const taken = putUp.flatMap(toJob)
  return { taken, waiting: putUp.length - taken.length }
}

function toJob({ jobId, claimId, companyId, deliveryId, registrationId, dueAt, createdAt }: PutUp): Job[] {
  if (claimId === null) return []
  const lane = String(registrationId)
  return [{ id: jobId, claimId, kind: DELIVER, lane, companyId, subjectId: deliveryId, dueAt, attempts: 0, createdAt }]
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
