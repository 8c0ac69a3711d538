import { type Db, jsonRows } from '../../db/connect.ts'
import type { Claim, DirectDispatch, Job } from '../../queue/job.ts'
import type { DeliveryMethod } from '../registrations/registration-store.ts'

/** One delivery and the registration that it is for. */
export type DeliveryRef = { companyId: number; deliveryId: number; registrationId: number }

/** Identified by company, event and its own id. */
export type NewEnvelope = {
  companyId: number
  event: string
  /** For `whatsapp.message.received` the wamid. */
  eventId: string
  /** Null for what is not kept as a message. */
  messageId: number | null
  /** Null for what belongs to no conversation. */
  conversationId: number | null
  /** The connected numbers that the event is about; null when it is about none: then no registration is limited. */
  channelIds: readonly number[] | null
  /** The exact text that is signed, sent and logged. */
  body: string
  /** By whom an erasure finds the event when no message or record of theirs leads to it; see envelope_people. */
  people?: readonly string[]
}

/** An attempt that has started: everything that is needed to make and record it. */
export type StartedAttempt = DeliveryRef & {
  round: number
  /** 1 to 5. */
  attempt: number
  event: string
  eventId: string
  body: string
  url: string
  method: DeliveryMethod
  /** Encrypted; null: none. */
  staticHeaders: string | null
  /** Encrypted. */
  secret: string | null
  /** An earlier delivery about its conversation has not finished: nothing has started; see holdBack. */
  waits: boolean
}

export type AttemptRecord = DeliveryRef & {
  round: number
  attempt: number
  statusCode: number | null
  response: string | null
  errorMessage: string | null
  durationMs: number
  sentAt: Date
  /** The next state of the delivery: done, or the time of the next attempt. */
  next: Date | 'delivered' | 'dead'
}

/** A new delivery; `claimId` is null unless it is leased to the caller. */
export type EnqueuedDelivery = DeliveryRef & Pick<Job, 'dueAt' | 'createdAt'> & { claimId: string | null }

/**
 * Stores envelopes and makes a delivery of each for every active registration of its company that subscribes to the event;
 * returns them. Belongs in the transaction that changes the record: its keys say that the event is new. An envelope without
 * receivers is not stored, and an event whose id came before on this day makes no delivery, not even for a registration that
 * is newer.
 */
export async function enqueueDeliveries(
  db: Db,
  envelopes: readonly NewEnvelope[],
  dispatch?: DirectDispatch,
): Promise<EnqueuedDelivery[]> {
  if (envelopes.length === 0) return []
  return await db<EnqueuedDelivery[]>`
    select *
    from insert_deliveries(
      ${jsonRows(db, envelopes.map(toEnvelopeRow))},
      ${dispatch?.leaseMs ?? null}::integer,
      ${dispatch?.fullLanes ?? []}::text[],
      ${dispatch?.fullCompanies ?? []}::bigint[]
    )
  `
}

/** Stores envelopes with their deliveries, as `enqueueDeliveries` does, and returns only the number of deliveries. */
export async function enqueueAndCount(db: Db, envelopes: readonly NewEnvelope[]): Promise<number> {
  if (envelopes.length === 0) return 0
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from insert_deliveries(${jsonRows(db, envelopes.map(toEnvelopeRow))})
  `
  return row?.count ?? 0
}

/** Which of these events have been stored for receivers and are kept. */
export async function listStoredEvents(
  db: Db,
  companyId: number,
  event: string,
  eventIds: readonly string[],
): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set()
  const rows = await db<{ eventId: string }[]>`
    select event_id from envelopes
    where company_id = ${companyId} and event = ${event} and event_id = any (${[...eventIds]}::text[])
  `
  return new Set(rows.map(({ eventId }) => eventId))
}

/** A delivery that a worker holds. */
export type HeldDelivery = { companyId: number; deliveryId: number; claimId: string }

/**
 * Starts the next attempt of each delivery. One that is finished, that another has claimed, or whose registration or company
 * is inactive or deleted, is not returned.
 *
 * An attempt starts when this statement commits. It reads companies and registrations once for all, under shared row locks: a
 * deactivation that has not committed yet is waited for and then seen, and one that comes while the lock is held waits for
 * the moment that this statement takes. So once a deactivation or deletion has been answered, nothing starts. The caller
 * posts at once and does not queue what has started. A start writes nothing: an attempt that dies with its worker is
 * started again under the same number.
 */
export async function startAttempts(db: Db, deliveries: readonly HeldDelivery[]): Promise<StartedAttempt[]> {
  if (deliveries.length === 0) return []
  return await db<StartedAttempt[]>`
    select *
    from start_attempts(${jsonRows(db, deliveries.map(toHeldRow))})
  `
}

export type Completion = {
  claim: Pick<Claim, 'claimId'>
  record: AttemptRecord
  /** Until the delivery is due again, by the database's clock; undefined: it has ended. */
  afterMs: number | undefined
}

/**
 * Records attempts and what becomes of their deliveries, in one statement. An attempt whose delivery is another's by now
 * changes nothing.
 */
export async function completeAttempts(db: Db, completions: readonly Completion[]): Promise<void> {
  if (completions.length === 0) return
  await db`select complete_attempts(${jsonRows(db, completions.map(toAttemptRow))})`
}

const toEnvelopeRow = ({
  companyId,
  event,
  eventId,
  messageId,
  conversationId,
  channelIds,
  body,
  people,
}: NewEnvelope) => ({
  company_id: companyId,
  event,
  event_id: eventId,
  message_id: messageId,
  conversation_id: conversationId,
  channel_ids: channelIds,
  body,
  people: people?.length ? people : undefined,
})

export const toHeldRow = ({ companyId, deliveryId, claimId }: HeldDelivery) => ({
  company_id: companyId,
  delivery_id: deliveryId,
  claim_id: claimId,
})

const toAttemptRow = ({ claim, record, afterMs }: Completion) => ({
  company_id: record.companyId,
  delivery_id: record.deliveryId,
  claim_id: claim.claimId,
  round: record.round,
  attempt: record.attempt,
  status: record.next instanceof Date ? 'pending' : record.next,
  wait_ms: afterMs ?? null,
  status_code: record.statusCode,
  response: record.response,
  error_message: record.errorMessage,
  duration_ms: record.durationMs,
  sent_at: record.sentAt.toISOString(),
})
