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
 * Attempts of a registration, newest first (spec: Webhook delivery log row; decisions: Delivery logs).
 *
 * @param filter `before`: only rows with smaller ids; `limit`: at most 100
 */
export async function listLogs(
  db: Db,
  companyId: number,
  registrationId: number,
  { before, limit = MAX_LOG_ROWS, status }: LogFilter = {},
): Promise<DeliveryLog[]> {
  return await db<DeliveryLog[]>`
    select
      recent.id, recent.delivery_id, recent.attempt, envelope.body, recent.response, recent.status_code,
      recent.error_message, recent.dead_lettered, recent.sent_at, recent.created_at
    from (
      select *
      from delivery_attempts
      where company_id = ${companyId} and registration_id = ${registrationId}
        ${before === undefined ? db`` : db`and id < ${before}`}
        ${hasStatus(db, status)}
      order by id desc
      limit ${limit}
    ) as recent
    join deliveries delivery
      on delivery.company_id = ${companyId} and delivery.id = recent.delivery_id
    join envelopes envelope
      on envelope.company_id = ${companyId} and envelope.wamid = delivery.wamid
    order by recent.id desc
  `
}

/** Failures have an index of their own, so that they are found among millions of successes. */
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
  const [row] = await db<DeliveryRef[]>`
    select company_id, delivery_id, registration_id
    from delivery_attempts
    where company_id = ${companyId} and id = ${logId} and registration_id = ${registrationId}
  `
  return row
}
