import { createHash } from 'node:crypto'
import { type Db, type Fragment, type Json, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'

export type KeyedRequest = {
  companyId: number
  clientId: string
  method: string
  path: string
  key: string
  digest: Buffer
}

export type Reservation =
  /** `progress`: recorded by an earlier run whose process died. */
  | { state: 'reserved'; id: number; progress: Json | null }
  | { state: 'reused' }
  | { state: 'running' }
  | { state: 'answered'; status: number; text: string }
  /** Its process died after starting a send. */
  | { state: 'abandoned'; id: number; messageId: number }

type Row = {
  isOurs: boolean
  id: number
  progress: Json | null
  isSame: boolean
  messageId: number | null
  answerStatus: number | null
  answerText: string | null
  isDead: boolean
}

export const OPERATOR = 0

const keysOf = (companyId: number): Fragment => (companyId === OPERATOR ? sql`operator_keys` : sql`idempotency_keys`)

/** After this long without renewal, the process counts as dead. */
export const LEASE_SECONDS = 15
const KEPT_HOURS = 48
// The conflicting row may vanish between two attempts.
const MAX_LOOKS = 5

/**
 * Reserves unused keys in one statement. Returns ids in request order; undefined: taken, call `reserveKey`. Skips
 * stored keys before the insert, which would wait for a transaction updating them.
 */
export async function reserveNewKeys(db: Db, requests: readonly KeyedRequest[]): Promise<(number | undefined)[]> {
  const rows = requests.map(toKeyColumns)
  const reserved = await db<{ requestKey: string; id: number }[]>`
    insert into idempotency_keys (company_id, client_id, method, path, key, digest, lease_until)
    select
      input.company_id, input.client_id, input.method, input.path, input.key, decode(input.digest, 'base64'),
      now() + ${LEASE_SECONDS} * interval '1 second'
    from ${inputRows(rows, { bigint: ['companyId'], text: ['clientId', 'method', 'path', 'key', 'digest'] })}
    ${keyOfInput} as existing on true
    where existing.id is null
    order by input.company_id, input.client_id, input.method, input.path, input.key
    on conflict (company_id, client_id, method, path, key) do nothing
    returning concat_ws(' ', company_id, client_id, method, path, key) as request_key, id`
  const ids = new Map(reserved.map(({ requestKey, id }) => [requestKey, id]))
  return rows.map((row) => {
    const requestKey = requestKeyOf(row)
    const id = ids.get(requestKey)
    ids.delete(requestKey)
    return id
  })
}

export const requestKeyOf = ({ companyId, clientId, method, path, key }: Omit<KeyedRequest, 'digest'>): string =>
  [companyId, clientId, method, path, key].join(' ')

export const toKeyColumns = ({ companyId, clientId, method, path, key, digest }: KeyedRequest) => ({
  ...{ companyId, clientId, method, path, key: hashOf(key), digest: digest.toString('base64') },
})

export const keyOfInput: Fragment = sql`
  left join lateral (
    select existing.id
    from idempotency_keys existing
    where (existing.company_id, existing.client_id, existing.method, existing.path, existing.key)
      = (input.company_id, input.client_id, input.method, input.path, input.key)
    limit 1
  )
`

/**
 * Reserves a key, or returns its state. Of concurrent equal requests, exactly one gets `reserved`. Keys expire after 48
 * hours. If the process died before starting a send, a new id keeps leftover work from committing.
 */
export async function reserveKey(db: Db, request: KeyedRequest): Promise<Reservation> {
  for (let look = 1; look <= MAX_LOOKS; look += 1) {
    const row = await insertOrRead(db, request)
    if (row !== undefined) return toReservation(row)
  }
  return { state: 'running' }
}

async function insertOrRead(db: Db, request: KeyedRequest): Promise<Row | undefined> {
  const { companyId, clientId, method, path, digest } = request
  const key = hashOf(request.key)
  const [row] = await db<Row[]>`
    with reserved as (
      insert into ${keysOf(companyId)} as existing (company_id, client_id, method, path, key, digest, lease_until)
      values (
        ${companyId}, ${clientId}, ${method}, ${path}, ${key}, ${digest},
        now() + ${LEASE_SECONDS} * interval '1 second'
      )
      on conflict (company_id, client_id, method, path, key) do update set
        id = default,
        digest = excluded.digest,
        message_id = null,
        progress = case when existing.created_at > now() - ${KEPT_HOURS} * interval '1 hour' then existing.progress end,
        answer_status = null,
        answer_body = null,
        lease_until = excluded.lease_until,
        created_at = now()
      where existing.created_at <= now() - ${KEPT_HOURS} * interval '1 hour'
        or (
          existing.answer_status is null
          and existing.message_id is null
          and existing.lease_until <= now()
          and existing.digest = excluded.digest
        )
      returning id, progress
    )
    select true as is_ours, id, progress, true as is_same, null::bigint as message_id, null::smallint as answer_status,
      null as answer_text, false as is_dead
    from reserved
    union all
    select false, id, null, digest = ${digest}, message_id, answer_status, answer_body, lease_until <= now()
    from ${keysOf(companyId)}
    where (company_id, client_id, method, path, key) = (${companyId}, ${clientId}, ${method}, ${path}, ${key})
      and not exists (select from reserved)`
  return row
}

/** Hashed, because callers may put an email or phone into a key. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url')

function toReservation(row: Row): Reservation {
  if (row.isOurs) return { state: 'reserved', id: row.id, progress: row.progress }
  if (!row.isSame) return { state: 'reused' }
  if (row.answerStatus !== null) return { state: 'answered', status: row.answerStatus, text: row.answerText ?? '' }
  if (row.isDead && row.messageId !== null) return { state: 'abandoned', id: row.id, messageId: row.messageId }
  return { state: 'running' }
}

/** Stores the first response; false if the reservation is gone. Must run in the transaction with the effects. */
export async function recordAnswer(
  db: Db,
  companyId: number,
  id: number,
  status: number,
  text: string,
): Promise<boolean> {
  const updated = await db`
    update ${keysOf(companyId)}
    set answer_status = ${status}, answer_body = ${text}
    where company_id = ${companyId} and id = ${id} and answer_status is null`
  return updated.count === 1
}

/** Stores progress; returns false if the reservation is gone. */
export async function storeProgress(db: Db, companyId: number, id: number, progress: Json): Promise<boolean> {
  const updated = await db`
    update ${keysOf(companyId)}
    set progress = ${db.json(progress)}
    where company_id = ${companyId} and id = ${id} and answer_status is null`
  return updated.count === 1
}

/** Releases a key without a response or a started send. With progress, the row stays for a retry to continue. */
export async function releaseKey(db: Db, companyId: number, id: number): Promise<void> {
  await db`
    with expired as (
      update ${keysOf(companyId)}
      set lease_until = now()
      where company_id = ${companyId} and id = ${id}
        and answer_status is null and message_id is null and progress is not null
    )
    delete from ${keysOf(companyId)}
    where company_id = ${companyId} and id = ${id}
      and answer_status is null and message_id is null and progress is null`
}

/** Renews leases of running requests; skips locked rows until the next time. */
export async function renewKeys(db: Db, reservations: readonly { companyId: number; id: number }[]): Promise<void> {
  const byTable = Map.groupBy(reservations, ({ companyId }) => companyId === OPERATOR)
  for (const [isOperator, ofTable] of byTable) {
    const keys = isOperator ? sql`operator_keys` : sql`idempotency_keys`
    await db`
      update ${keys} key
      set lease_until = now() + ${LEASE_SECONDS} * interval '1 second'
      from (
        select company_id, id
        from ${keys}
        where (company_id, id) in (
            select company_id, id
            from ${inputRows(ofTable, { bigint: ['companyId', 'id'] }, 'running')}
          )
          and answer_status is null
        for update skip locked
      ) as running
      where (key.company_id, key.id) = (running.company_id, running.id)`
  }
}

/**
 * Replaces responses containing one of the lower-case texts or about a message to the contact, and clears matching
 * progress, among the next `limit` keys. The keys stay taken, so retries have no effect. Returns the id to continue
 * after; undefined at the end.
 */
export async function eraseAnswers(
  db: Db,
  companyId: number,
  { contactId, texts }: { contactId: number; texts: readonly string[] },
  answer: { status: number; text: string },
  after: number,
  limit: number,
): Promise<number | undefined> {
  const [step] = await db<{ last: number | null }[]>`
    with step as materialized (
      select id, message_id, lower(answer_body) as answer, lower(progress::text) as progress
      from idempotency_keys
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ),
    target as (
      select step.id
      from step
      where exists (
          select
          from unnest(${[...texts]}::text[]) as text (value)
          where position(text.value in step.answer) > 0 or position(text.value in step.progress) > 0
        )
        or exists (
          select
          from messages message
          join conversations conversation
            on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
          join customers customer
            on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
          where (message.company_id, message.id) = (${companyId}, step.message_id)
            and customer.contact_id = ${contactId}
        )
    ),
    erased as (
      update idempotency_keys key
      set
        answer_status = case when key.answer_body is not null then ${answer.status}::smallint end,
        answer_body = case when key.answer_body is not null then ${answer.text}::text end,
        progress = null
      from target
      where (key.company_id, key.id) = (${companyId}, target.id)
    )
    select max(step.id) as last from step
  `
  return step?.last ?? undefined
}
