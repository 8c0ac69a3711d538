import { type Db, type Fragment, sql } from '../../../db/connect.ts'
import { inputRows } from '../../../db/input-rows.ts'
import { dayOf, dayOfId, IDS_A_DAY } from '../delivery-store.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead', 'skipped'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export type Delivery = {
  id: number
  registrationId: number
  event: string
  eventId: string
  status: DeliveryStatus
  attempts: number
  lastStatusCode: number | null
  createdAt: Date
  nextAttemptAt: Date | null
}

export type DeliveryFilter = {
  readonly status?: DeliveryStatus | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly before?: number | undefined
  readonly limit: number
  readonly ids?: readonly number[] | undefined
}

/** The last nine digits follow a 32-bit day. */
export const MAX_DELIVERY_ID = (2 ** 31 - 1) * IDS_A_DAY
/** Ids are time-ordered, give or take one transaction. */
const SKEW_MS = 60_000

/** Lists a registration's deliveries, newest first; `until` is exclusive. */
export function listDeliveries(
  db: Db,
  companyId: number,
  registrationId: number,
  { status, limit, ...range }: DeliveryFilter,
): Promise<Delivery[]> {
  const within = withinOf(range)
  const ofStatus = (one: DeliveryStatus) => sql`(
    select company_id, id, day, registration_id, event, event_id, status, attempts, status_code, created_at, due_at
    from deliveries
    where company_id = ${companyId} and registration_id = ${registrationId} and status = ${one} ${within}
    order by id desc
    limit ${limit}
  )`
  const page = unionOfStatuses(status, ofStatus)
  return selectDeliveries(db, companyId, sql`select * from (${page}) as one order by id desc limit ${limit}`)
}

/** Each status is an index range, so a list takes the newest of each. */
export function unionOfStatuses(
  status: DeliveryStatus | undefined,
  ofStatus: (status: DeliveryStatus) => Fragment,
): Fragment {
  const [first, ...others] = status === undefined ? DELIVERY_STATUSES : [status]
  return others.reduce((union, one) => sql`${union} union all ${ofStatus(one)}`, ofStatus(first ?? 'pending'))
}

export function withinOf({
  since,
  until,
  before,
  ids,
}: Pick<DeliveryFilter, 'since' | 'until' | 'before' | 'ids'>): Fragment {
  const days = [...new Set(ids?.map(dayOfId))]
  return sql`
    ${since === undefined ? sql`` : sql`and created_at >= ${since} and ${from(since)}`}
    ${until === undefined ? sql`` : sql`and created_at < ${until} and ${upTo(until)}`}
    ${before === undefined ? sql`` : sql`and id < ${before} and day <= ${dayOfId(before)}::integer`}
    ${ids === undefined ? sql`` : sql`and id = any (${[...ids]}::bigint[]) and day = any (${days}::integer[])`}
  `
}

export const listDeliveriesByIds = (db: Db, companyId: number, ids: readonly number[]): Promise<Delivery[]> =>
  selectDeliveries(
    db,
    companyId,
    sql`
      select delivery.*
      from unnest(${[...ids]}::bigint[]) as input (id)
      cross join lateral (
        select company_id, id, day, registration_id, event, event_id, status, attempts, status_code, created_at, due_at
        from deliveries existing
        where existing.id = input.id and existing.company_id = ${companyId} and existing.day = (input.id / 1000000000)::integer
        limit 1
      ) as delivery
    `,
  )

function selectDeliveries(db: Db, companyId: number, page: Fragment): Promise<Delivery[]> {
  return db<Delivery[]>`
    select
      page.id, page.registration_id, page.event, page.event_id, page.status, page.attempts, page.created_at,
      coalesce(latest.status_code, case when latest.id is null then page.status_code end) as last_status_code,
      case when page.status = 'pending' then page.due_at end as next_attempt_at
    from (${page}) as page
    left join lateral (
      select attempt.id, attempt.status_code
      from delivery_attempts attempt
      where attempt.company_id = ${companyId} and attempt.delivery_id = page.id and attempt.day >= page.day
      order by attempt.id desc
      limit 1
    ) as latest on true
    order by page.id desc
  `
}

const from = (at: Date) => {
  const day = dayOf(at)
  return sql`
    day >= ${day}::integer and id >= (select delivery_id_at(${day}::integer, ${new Date(at.getTime() - SKEW_MS)}))
  `
}

const upTo = (at: Date) => {
  const day = dayOf(at)
  return sql`
    day <= ${day}::integer and id < (select delivery_id_at(${day}::integer, ${new Date(at.getTime() + SKEW_MS)}))
  `
}
export type DeliveryAttempt = {
  id: number
  attempt: number
  round: number
  statusCode: number | null
  response: string | null
  errorMessage: string | null
  durationMs: number
  sentAt: Date
}

export type DeliveryDetails = Delivery & { body: string; recorded: DeliveryAttempt[] }

/** Finds a delivery with its latest `limit` attempts, newest first. */
export async function findDelivery(
  db: Db,
  companyId: number,
  registrationId: number,
  id: number,
  limit: number,
): Promise<DeliveryDetails | undefined> {
  const [delivery] = await listDeliveriesByIds(db, companyId, [id])
  if (delivery === undefined || delivery.registrationId !== registrationId) return undefined
  const day = dayOfId(id)
  const [envelope] = await db<{ body: string }[]>`
    select body
    from envelopes
    where company_id = ${companyId} and event = ${delivery.event} and event_id = ${delivery.eventId}
      and day = ${day}::integer
  `
  if (envelope === undefined) return undefined
  const recorded = await db<DeliveryAttempt[]>`
    select id, attempt, round, status_code, response, error_message, duration_ms, sent_at
    from (
      (
        select id, attempt, round, status_code, response, error_message, duration_ms, sent_at
        from delivery_attempts
        where company_id = ${companyId} and delivery_id = ${id} and day >= ${day}::integer
        order by id desc
        limit ${limit}
      )
      union all
      -- A first attempt that delivered is recorded in the row of its delivery.
      select id, 1, 1, status_code, response, null, duration_ms, sent_at
      from deliveries
      where company_id = ${companyId} and id = ${id} and day = ${day}::integer and sent_at is not null
    ) as attempt
    order by id desc
    limit ${limit}
  `
  return { ...delivery, ...envelope, recorded }
}

export const MAX_EXCERPT = 120

export type DeliveredMessage = {
  type: string
  text: string | null
  phone: string | null
  firstName: string | null
  lastName: string | null
  profileName: string | null
}

/** Reads the messages of deliveries, by delivery id; other events have none. */
export async function readDeliveredMessages(
  db: Db,
  companyId: number,
  deliveries: readonly Delivery[],
): Promise<Map<number, DeliveredMessage>> {
  if (deliveries.length === 0) return new Map()
  const rows = await db<(DeliveredMessage & { id: number })[]>`
    select
      input.id, message.type, left(message.text, ${MAX_EXCERPT}::integer) as text, customer.phone,
      contact.first_name, contact.last_name, conversation.profile_name
    from ${inputRows(deliveries, { bigint: ['id'], text: ['event', 'eventId'] })}
    cross join lateral (
      select existing.message_id
      from envelopes existing
      where existing.company_id = ${companyId} and existing.event = input.event and existing.event_id = input.event_id
        and existing.day = (input.id / 1000000000)::integer
      limit 1
    ) as envelope
    join messages message on message.company_id = ${companyId} and message.id = envelope.message_id
    join conversations conversation
      on conversation.company_id = ${companyId} and conversation.id = message.conversation_id
    join customers customer on customer.company_id = ${companyId} and customer.id = conversation.customer_id
    join contacts contact on contact.company_id = ${companyId} and contact.id = customer.contact_id
  `
  return new Map(rows.map(({ id, ...message }) => [id, message]))
}
