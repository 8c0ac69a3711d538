import { type Db, type Fragment, sql } from '../../../db/connect.ts'
import type { DeliveryRef } from '../delivery-store.ts'

export const MAX_LOG_ROWS = 100

export type DeliveryLog = {
  id: number
  deliveryId: number
  attempt: number
  body: string
  response: string | null
  statusCode: number | null
  errorMessage: string | null
  deadLettered: boolean
  sentAt: Date
  createdAt: Date
}

type LogStatus = 'delivered' | 'failed' | 'dead'
type LogFilter = { before?: number | undefined; limit?: number; status?: LogStatus | undefined }

/**
 * Lists attempts, newest first (spec: Webhook delivery log row; decisions: Deliveries). Successful first attempts are rows of
 * `deliveries`, all others of `delivery_attempts`; ids share a sequence. Each outcome has an index.
 */
export async function listLogs(
  db: Db,
  companyId: number,
  registrationId: number,
  { before, limit = MAX_LOG_ROWS, status }: LogFilter = {},
): Promise<DeliveryLog[]> {
  const isOlder =
    before === undefined
      ? sql``
      : sql`and (sent_at, id) < (${await timeOf(db, companyId, registrationId, before)}::timestamptz, ${before})`
  const ofRegistration = sql`company_id = ${companyId} and registration_id = ${registrationId}`
  // MAX_LOG_ROWS, must be a constant: with a parameter, planning every call anew takes longer than the page.
  const page = sql`${isOlder} order by sent_at desc, id desc limit 100`
  const firstAttempts = sql`(
    select
      id, id as delivery_id, 1 as attempt, response, status_code, null::text as error_message, false as dead_lettered,
      sent_at, logged_at as created_at
    from deliveries
    where ${ofRegistration} and sent_at is not null ${page}
  )`
  const otherAttempts = (outcome: Fragment) => sql`(
    select id, delivery_id, attempt, response, status_code, error_message, dead_lettered, sent_at, created_at
    from delivery_attempts
    where ${ofRegistration} and ${outcome} ${page}
  )`
  const delivered = sql`${firstAttempts} union all ${otherAttempts(sql`error_message is null`)}`
  const failed = otherAttempts(sql`error_message is not null`)
  const ranges = {
    all: sql`${delivered} union all ${failed}`,
    delivered,
    failed,
    dead: otherAttempts(sql`dead_lettered`),
  }
  return await db<DeliveryLog[]>`
    select
      recent.id, recent.delivery_id, recent.attempt, envelope.body, recent.response, recent.status_code,
      recent.error_message, recent.dead_lettered, recent.sent_at, recent.created_at
    from (
      select * from (${ranges[status ?? 'all']}) as attempt order by sent_at desc, id desc limit ${limit}
    ) as recent
    cross join lateral (
      -- One look-up for each row: a join would read all deliveries of the company.
      select envelope.body
      from deliveries delivery
      join envelopes envelope
        on (envelope.company_id, envelope.event, envelope.event_id, envelope.day)
          = (delivery.company_id, delivery.event, delivery.event_id, delivery.day)
      where delivery.company_id = ${companyId} and delivery.id = recent.delivery_id
        and delivery.day = (recent.delivery_id / 1000000000)::integer
      limit 1
    ) as envelope
    order by recent.sent_at desc, recent.id desc
  `
}

/** Text, since a Date has no microseconds. Without the row, the list continues at the end of the id's day. */
async function timeOf(db: Db, companyId: number, registrationId: number, id: number): Promise<string> {
  const place = sql`
    company_id = ${companyId} and registration_id = ${registrationId} and id = ${id} and day = ${id}::bigint / 1000000000
  `
  const [row] = await db<[{ at: string }]>`
    select coalesce(
      (select sent_at from deliveries where ${place} and sent_at is not null),
      (select sent_at from delivery_attempts where ${place}),
      -- the latest day of which a time can be made
      date '1970-01-01' + least(${id}::bigint / 1000000000 + 1, 100000)::integer
    )::text as at
  `
  return row.at
}

export async function findLoggedDelivery(
  db: Db,
  companyId: number,
  registrationId: number,
  logId: number,
): Promise<DeliveryRef | undefined> {
  const place = sql`
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
