import { type Db, jsonRows, sql } from '../../db/connect.ts'
import type { Claim, DirectDispatch, Job } from '../../queue/job.ts'
import type { JobTable } from '../../queue/job-table.ts'
import type { DeliveryMethod } from '../registrations/registration-store.ts'
import { openDays } from './delivery-days.ts'

export const DELIVER = 'webhook.deliver'

/** Ids of deliveries and log entries: days since 1970 times this, plus a number. */
export const IDS_A_DAY = 1_000_000_000

const DAY_MS = 86_400_000

/** Returns the day since 1970, in UTC. */
export const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS)

export const dayOfId = (id: number): number => Math.floor(id / IDS_A_DAY)

const DELIVER_TEXT = sql.unsafe(`'${DELIVER}'`)

export const DELIVERIES = {
  name: sql`deliveries`,
  kind: DELIVER_TEXT,
  isOfKind: (kind) => sql`${kind} = ${DELIVER_TEXT}`,
  isOpen: sql`job.status = 'pending' and job.failed_at is null and job.waits_for is null`,
  subject: sql`job.id`,
  failures: sql`faults`,
  finish: sql`
    update deliveries job
    set status = 'skipped', finished_at = clock_timestamp(), claim_id = null, lease_until = null
  `,
  // Due retries run first, to keep the retry schedule under any load.
  ranks: [sql`least(job.attempts, 1) = 1`, sql`least(job.attempts, 1) = 0`],
  order: sql`job.lane, least(job.attempts, 1) desc, job.due_at, job.id`,
  isWithin: ({ first, last }) => sql`job.day between ${first}::integer and ${last}::integer`,
  partitionOf: dayOfId,
  openPartitions: openDays,
} satisfies JobTable

export const deliveryLaneOf = (companyId: number, registrationId: number): string => `${companyId}.${registrationId}`

/** Returns the key of a conversation's customer. Others have an event identity, or `mailto:` for mail recipients. */
export const conversationPerson = (conversationId: number): string => `conversation:${conversationId}`

export type DeliveryRef = { companyId: number; deliveryId: number; registrationId: number }

/** Unique by company, event and event id. */
export type NewEnvelope = {
  companyId: number
  event: string
  /** The wamid for `whatsapp.message.received`. */
  eventId: string
  /** Null if there is no message. */
  messageId: number | null
  /** Null if there is no conversation. */
  conversationId: number | null
  /** The connected numbers involved. Null matches registrations of any channel. */
  channelIds: readonly number[] | null
  /** The exact bytes to sign, send and log. */
  body: string
  /** Person keys for erasure, when no message or record leads to the envelope; see envelope_people. */
  people?: readonly string[]
}

/** Everything needed to make and record an attempt. */
export type StartedAttempt = DeliveryRef & {
  round: number
  /** 1 to 5. */
  attempt: number
  event: string
  eventId: string
  body: string
  url: string
  method: DeliveryMethod
  /** Encrypted. */
  staticHeaders: string | null
  /** Encrypted. */
  secret: string | null
  /** Not started: an earlier delivery of its conversation is unfinished; see `holdBack`. */
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
  /** The delivery's end, or the time of its next attempt. */
  next: Date | 'delivered' | 'dead'
}

/** A new delivery; `claimId` is null unless it is leased to the caller. */
export type EnqueuedDelivery = DeliveryRef & Pick<Job, 'dueAt' | 'createdAt'> & { claimId: string | null }

/**
 * Stores envelopes with one delivery per active registration that subscribes to the event, and returns the deliveries. Must run in
 * the transaction that changes the record, whose keys prove that the event is new. Skips envelopes without receivers and event
 * ids already stored today, even for newer registrations.
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
      ${dispatch?.fullLanes ?? []}::text[]
    )
  `
}

/** Like `enqueueDeliveries`, but returns only the number of deliveries. */
export async function enqueueAndCount(db: Db, envelopes: readonly NewEnvelope[]): Promise<number> {
  if (envelopes.length === 0) return 0
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from insert_deliveries(${jsonRows(db, envelopes.map(toEnvelopeRow))})
  `
  return row?.count ?? 0
}

/** Returns the event ids that are stored and kept. */
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

export type HeldDelivery = { companyId: number; deliveryId: number; claimId: string }

/**
 * Starts the next attempt of each delivery. Omits deliveries that are finished or claimed by another, or whose registration or
 * company is inactive or deleted.
 *
 * Reads companies and registrations under shared row locks and waits for an uncommitted deactivation, so no attempt starts once a
 * deactivation has been answered. The caller must post immediately. A start writes nothing: if the worker dies, the attempt
 * starts again under the same number.
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
  /** Delay until the delivery is due again, by the database clock; undefined if it has ended. */
  afterMs: number | undefined
}

/** Records attempts and the resulting delivery states in one statement. Ignores deliveries claimed by another worker. */
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

const toHeldRow = ({ companyId, deliveryId, claimId }: HeldDelivery) => ({
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
