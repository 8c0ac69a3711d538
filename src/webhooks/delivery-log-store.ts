import type { Db } from '../db/connect.ts'
import type { DeliveryRef } from './delivery-store.ts'

export const MAX_LOG_ROWS = 100

export type DeliveryLog = {
  id: number
  deliveryId: number
  attempt: number
  /** The delivered body, the very text. */
  body: string
  response: string | null
  statusCode: number | null
  errorMessage: string | null
  deadLettered: boolean
  sentAt: Date
  createdAt: Date
}

/** Which attempts a list shows: those that delivered, those that failed, or the last ones of dead-lettered deliveries. */
export type LogStatus = 'delivered' | 'failed' | 'dead'
export type LogFilter = { before?: number | undefined; limit?: number; status?: LogStatus | undefined }

/**
 * Attempts of a registration, newest first (spec: Webhook delivery log row; decisions: Delivery logs). First attempts that
 * delivered are rows of `deliveries`, all others of `delivery_attempts`; their ids are of one sequence.
 *
 * @param filter `before`: only rows with smaller ids; `limit`: at most 100
 */
export async function listLogs(
  db: Db,
  companyId: number,
  registrationId: number,
  { before, limit = MAX_LOG_ROWS, status }: LogFilter = {},
): Promise<DeliveryLog[]> {
  const isOlder = before === undefined ? db`` : db`and id < ${before} and day <= ${before}::bigint / 1000000000`
  const firstAttempts = db`
    select
      id, id as delivery_id, 1 as attempt, response, status_code, null::text as error_message, false as dead_lettered,
      sent_at, logged_at as created_at
    from deliveries
    where company_id = ${companyId} and registration_id = ${registrationId} and sent_at is not null ${isOlder}
      and ${status === undefined || status === 'delivered'}
    order by id desc
    limit ${limit}
  `
  const otherAttempts = db`
    select
      id, delivery_id, attempt, response, status_code, error_message, dead_lettered, sent_at, created_at
    from delivery_attempts
    where company_id = ${companyId} and registration_id = ${registrationId} ${isOlder} ${hasStatus(db, status)}
    order by id desc
    limit ${limit}
  `
  return await db<DeliveryLog[]>`
    select
      recent.id, recent.delivery_id, recent.attempt, envelope.body, recent.response, recent.status_code,
      recent.error_message, recent.dead_lettered, recent.sent_at, recent.created_at
    from (
      select * from ((${firstAttempts}) union all (${otherAttempts})) as attempt order by id desc limit ${limit}
    ) as recent
    cross join lateral (
      -- One look-up for each row: a join would read all deliveries of the company.
      select envelope.body
      from deliveries delivery
      join envelopes envelope
        on envelope.company_id = delivery.company_id and envelope.wamid = delivery.wamid and envelope.day = delivery.day
      where delivery.company_id = ${companyId} and delivery.id = recent.delivery_id
        and delivery.day = (recent.delivery_id / 1000000000)::integer
      limit 1
    ) as envelope
    order by recent.id desc
  `
}

/** Failures have an index of their own, so that they are found among any number of repeated attempts that delivered. */
function hasStatus(db: Db, status: LogStatus | undefined) {
  if (status === undefined) return db``
  if (status === 'delivered') return db`and error_message is null`
  return status === 'failed' ? db`and error_message is not null` : db`and error_message is not null and dead_lettered`
}

/** The delivery that a log row belongs to. */
export async function findLoggedDelivery(
  db: Db,
  companyId: number,
  registrationId: number,
  logId: number,
): Promise<DeliveryRef | undefined> {
  const place = db`
    company_id = ${companyId} and id = ${logId} and day = ${logId}::bigint / 1000000000
    and registration_id = ${registrationId}
  `
  const [row] = await db<DeliveryRef[]>`
    select company_id, id as delivery_id, registration_id from deliveries where ${place} and sent_at is not null
    union all
    select company_id, delivery_id, registration_id from delivery_attempts where ${place}
  `
  return row
}
