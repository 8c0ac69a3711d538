import type { Db } from '../db/connect.ts'
import type { DeliveryMethod } from './registration-store.ts'
import type { StaticHeader } from './static-header.ts'

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
  headers: StaticHeader[]
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

/**
 * Puts envelopes up for every active registration of their company that subscribes to the event, and returns the new
 * deliveries. Belongs in the transaction that writes the message. A wamid that a company has had before makes no
 * delivery, not even for a registration that is newer; an envelope that nobody wants is not stored.
 */
export async function insertDeliveries(db: Db, envelopes: readonly NewEnvelope[]): Promise<DeliveryRef[]> {
  if (envelopes.length === 0) return []
  return await db<DeliveryRef[]>`
    with given as materialized (
      select distinct on (company_id, wamid) *
      from unnest(
        ${envelopes.map((one) => one.companyId)}::bigint[],
        ${envelopes.map((one) => one.wamid)}::text[],
        ${envelopes.map((one) => one.event)}::text[],
        ${envelopes.map((one) => one.messageId)}::bigint[],
        ${envelopes.map((one) => one.body)}::text[]
      ) with ordinality as given (company_id, wamid, event, message_id, body, ord)
      order by company_id, wamid, ord
    ),
    wanted as materialized (
      select given.company_id, given.wamid, given.ord, registration.id as registration_id
      from given
      join registrations registration
        on registration.company_id = given.company_id
        and given.event = any (registration.events)
      where registration.status = 'active' and registration.deleted_at is null
    ),
    stored as (
      insert into envelopes (company_id, wamid, event, message_id, body)
      select given.company_id, given.wamid, given.event, given.message_id, given.body
      from given
      where (given.company_id, given.wamid) in (select company_id, wamid from wanted)
      order by given.company_id, given.wamid -- one order of locks for all who write at once
      on conflict (company_id, wamid) do nothing
      returning company_id, wamid
    )
    insert into deliveries (company_id, registration_id, wamid)
    select wanted.company_id, wanted.registration_id, wanted.wamid
    from wanted
    join stored using (company_id, wamid)
    order by wanted.ord, wanted.registration_id
    returning company_id, id as delivery_id, registration_id
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
    with due as materialized (
      select
        delivery.company_id, delivery.id as delivery_id, delivery.registration_id, delivery.round,
        delivery.attempts + 1 as attempt, delivery.wamid, registration.url, registration.method,
        registration.headers, registration.secret,
        registration.status = 'active' and registration.deleted_at is null as is_wanted
      from unnest(
        ${deliveries.map((one) => one.companyId)}::bigint[],
        ${deliveries.map((one) => one.deliveryId)}::bigint[]
      ) as given (company_id, delivery_id)
      join deliveries delivery on (delivery.company_id, delivery.id) = (given.company_id, given.delivery_id)
      join registrations registration
        on (registration.company_id, registration.id) = (delivery.company_id, delivery.registration_id)
      where delivery.status = 'pending'
      for share of registration
    ),
    skipped as (
      update deliveries delivery
      set status = 'skipped', next_attempt_at = null, updated_at = now()
      from due
      where (delivery.company_id, delivery.id) = (due.company_id, due.delivery_id)
        and delivery.status = 'pending'
        and not due.is_wanted
    )
    select
      due.company_id, due.delivery_id, due.registration_id, due.round, due.attempt, due.wamid, envelope.event,
      envelope.body, due.url, due.method, due.headers, due.secret
    from due
    join envelopes envelope on (envelope.company_id, envelope.wamid) = (due.company_id, due.wamid)
    where due.is_wanted
  `
}

/**
 * Writes one log row per attempt and what becomes of its delivery, all in one statement. An attempt that somebody else
 * has recorded, or that belongs to a round that is over, changes nothing.
 */
export async function recordAttempts(db: Db, attempts: readonly AttemptRecord[]): Promise<void> {
  if (attempts.length === 0) return
  await db`
    with made as materialized (
      select *
      from unnest(
        ${attempts.map((one) => one.companyId)}::bigint[],
        ${attempts.map((one) => one.deliveryId)}::bigint[],
        ${attempts.map((one) => one.registrationId)}::bigint[],
        ${attempts.map((one) => one.round)}::integer[],
        ${attempts.map((one) => one.attempt)}::integer[],
        ${attempts.map((one) => one.statusCode)}::integer[],
        ${attempts.map((one) => one.response)}::text[],
        ${attempts.map((one) => one.errorMessage)}::text[],
        ${attempts.map((one) => one.durationMs)}::integer[],
        ${attempts.map((one) => one.sentAt.toISOString())}::timestamptz[],
        ${attempts.map(statusAfter)}::text[],
        ${attempts.map((one) => (one.next instanceof Date ? one.next.toISOString() : null))}::timestamptz[]
      ) with ordinality as made (
        company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
        sent_at, status_after, next_attempt_at, ord
      )
    ),
    logged as (
      insert into delivery_attempts (
        company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
        dead_lettered, sent_at
      )
      select
        company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
        status_after = 'dead', sent_at
      from made
      order by ord
      on conflict on constraint delivery_attempts_once do nothing
    )
    update deliveries delivery
    set
      attempts = made.attempt,
      status = made.status_after,
      next_attempt_at = made.next_attempt_at,
      updated_at = now()
    from made
    where (delivery.company_id, delivery.id) = (made.company_id, made.delivery_id)
      and delivery.round = made.round
      and delivery.attempts = made.attempt - 1
      and delivery.status = 'pending'
  `
}

const statusAfter = ({ next }: AttemptRecord): string => (next instanceof Date ? 'pending' : next)
