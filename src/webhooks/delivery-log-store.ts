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

/** The most recent attempts of a registration, newest first, at most 100 (spec: Webhook delivery log row). */
export async function listLogs(db: Db, companyId: number, registrationId: number): Promise<DeliveryLog[]> {
  return await db<DeliveryLog[]>`
    select
      recent.id, recent.delivery_id, recent.attempt, envelope.body, recent.response, recent.status_code,
      recent.error_message, recent.dead_lettered, recent.sent_at, recent.created_at
    from (
      select *
      from delivery_attempts
      where company_id = ${companyId} and registration_id = ${registrationId}
      order by id desc
      limit ${MAX_LOG_ROWS}
    ) as recent
    join deliveries delivery
      on delivery.company_id = ${companyId} and delivery.id = recent.delivery_id
    join envelopes envelope
      on envelope.company_id = ${companyId} and envelope.wamid = delivery.wamid
    order by recent.id desc
  `
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
