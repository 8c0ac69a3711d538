import type { Db } from '../db/connect.ts'
import type { Claim, Job, Offer } from '../jobs/job.ts'
import type { DeliveryMethod } from './registration-store.ts'

/** The kind of job that makes a delivery's attempts. A registration is a lane. */
export const DELIVER = 'webhook.deliver'

/** One delivery, as jobs carry it: the registration is its lane. */
export type DeliveryRef = { companyId: number; deliveryId: number; registrationId: number }

export type NewEnvelope = {
  companyId: number
  wamid: string
  event: string
  /** Null for what is not kept as a message. */
  messageId: number | null
  /** The exact text that is signed, sent and logged. */
  body: string
}

/** An attempt that has begun: everything that is needed to make and record it. */
export type BegunAttempt = DeliveryRef & {
  round: number
  /** 1 to 5. */
  attempt: number
  wamid: string
  event: string
  body: string
  url: string
  method: DeliveryMethod
  /** Encrypted; null: none. */
  staticHeaders: string | null
  /** Encrypted. */
  secret: string | null
}

export type AttemptRecord = DeliveryRef & {
  round: number
  attempt: number
  statusCode: number | null
  response: string | null
  errorMessage: string | null
  durationMs: number
  sentAt: Date
  /** What becomes of the delivery: done, or when it is tried again. */
  next: Date | 'delivered' | 'dead'
}

/** A new delivery and its job, which is leased from the start where an offer was taken up: it has a claim then. */
export type PutUp = DeliveryRef & { jobId: number; claimId: string | null } & Pick<Job, 'dueAt' | 'createdAt'>

/**
 * Puts envelopes up for every active registration of their company that subscribes to the event, and returns the new
 * deliveries, each of which has its job. Belongs in the transaction that writes the message. A wamid that a company has
 * had before makes no delivery, not even for a registration that is newer; an envelope that nobody wants is not stored.
 */
export async function insertDeliveries(db: Db, envelopes: readonly NewEnvelope[], offer?: Offer): Promise<PutUp[]> {
  if (envelopes.length === 0) return []
  return await db<PutUp[]>`
    select *
    from put_up_deliveries(
      ${DELIVER},
      ${envelopes.map((one) => one.companyId)}::bigint[],
      ${envelopes.map((one) => one.wamid)}::text[],
      ${envelopes.map((one) => one.event)}::text[],
      ${envelopes.map((one) => one.messageId)}::bigint[],
      ${envelopes.map((one) => one.body)}::text[],
      ${offer?.fullLanes ?? []}::text[],
      ${offer?.fullCompanies ?? []}::bigint[],
      ${offer?.leaseMs ?? null}::integer
    )
  `
}

/**
 * Begins the next attempt of each delivery. One that is finished, or whose registration is inactive or deleted, is not
 * returned: the latter ends here as skipped, without attempt, log row or retry.
 *
 * An attempt begins when this statement commits. It reads the registration under a shared row lock: a deactivation
 * that has not committed yet is waited for and then seen, and one that comes while the lock is held waits for the
 * moment that this statement takes. So once a deactivation or deletion has been answered, nothing begins. The caller
 * posts at once and does not queue what has begun. Beginning writes nothing: an attempt that dies with its worker is
 * begun again under the same number.
 */
export async function beginAttempts(db: Db, deliveries: readonly DeliveryRef[]): Promise<BegunAttempt[]> {
  if (deliveries.length === 0) return []
  return await db<BegunAttempt[]>`
    select *
    from begin_attempts(
      ${deliveries.map((one) => one.companyId)}::bigint[],
      ${deliveries.map((one) => one.deliveryId)}::bigint[]
    )
  `
}

export type Settlement = {
  claim: Claim
  record: AttemptRecord
  /** Until the job is due again, by the database's clock; undefined: it has ended. */
  afterMs: number | undefined
}

/**
 * Writes one log row per attempt, what becomes of its delivery, and ends its job or gives it another time, all in one
 * statement. An attempt whose job is another's by now changes nothing.
 */
export async function settleAttempts(db: Db, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await db`select settle_attempts(${db.json(settlements.map(toItem))})`
}

const toItem = ({ claim, record, afterMs }: Settlement) => ({
  job_id: claim.id,
  claim_id: claim.claimId,
  after_ms: afterMs ?? null,
  round: record.round,
  attempt: record.attempt,
  status_code: record.statusCode,
  response: record.response,
  error_message: record.errorMessage,
  duration_ms: record.durationMs,
  sent_at: record.sentAt.toISOString(),
  status_after: record.next instanceof Date ? 'pending' : record.next,
  next_attempt_at: record.next instanceof Date ? record.next.toISOString() : null,
})
