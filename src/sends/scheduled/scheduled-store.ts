import { type Db, type Json, sql } from '../../db/connect.ts'
import type { Permission } from '../../http/admission/caller.ts'
import type { ContentBody, SendBody } from '../send-shape.ts'

export const SCHEDULED_STATUSES = ['scheduled', 'sent', 'failed'] as const
type ScheduledStatus = (typeof SCHEDULED_STATUSES)[number]
export type ScheduledError = { code: string | null; message: string }

export type ScheduledMessage = {
  id: number
  status: ScheduledStatus
  sendAt: Date
  conversationId: number | null
  messageId: number | null
  recipient: string
  type: string
  text: string | null
  senderName: string
  error: ScheduledError | null
  createdAt: Date
}

const columns = sql`
  id, status, send_at, conversation_id, message_id, recipient, type, text, sender_name, error, created_at
`

type NewScheduled = Pick<ScheduledMessage, 'recipient' | 'type' | 'text' | 'senderName' | 'sendAt'> & {
  senderId: number
  identity: string
  /** Replies only; null: the sender-recipient conversation, if any. */
  conversationId: number | null
  isReply: boolean
  body: Json
  clientId: string | null
}

/** Reads facts for scheduling, by the database clock. `limit` bounds a company's waiting messages. */
export async function readScheduleFacts(
  db: Db,
  companyId: number,
  sendAt: Date,
  { days, limit }: { days: number; limit: number },
): Promise<{ isAhead: boolean; isNear: boolean; isFull: boolean }> {
  const [facts] = await db<[{ isAhead: boolean; isNear: boolean; isFull: boolean }]>`
    select
      ${sendAt}::timestamptz > now() as is_ahead,
      ${sendAt}::timestamptz <= now() + make_interval(days => ${days}) as is_near,
      exists (
        select
        from scheduled_messages
        where company_id = ${companyId} and status = 'scheduled'
        order by id
        offset ${limit - 1}
      ) as is_full
  `
  return facts
}

export async function insertScheduled(db: Db, companyId: number, message: NewScheduled): Promise<ScheduledMessage> {
  const { senderId, identity, recipient, type, text, senderName, sendAt, clientId } = message
  const [inserted] = await db<[ScheduledMessage]>`
    insert into scheduled_messages (
      company_id, sender_id, conversation_id, is_reply, recipient, identity, type, text, body, sender_name, client_id, send_at
    )
    values (
      ${companyId}, ${senderId},
      coalesce(
        ${message.conversationId}::bigint,
        (
          select conversation.id
          from find_customer(${companyId}, ${identity}) as customer
          join conversations conversation
            on (conversation.company_id, conversation.sender_id, conversation.customer_id)
              = (${companyId}::bigint, ${senderId}::bigint, customer.customer_id)
        )
      ),
      ${message.isReply}, ${recipient}, ${identity}, ${type}, ${text}, ${db.json(message.body)}, ${senderName},
      ${clientId}, ${sendAt}
    )
    returning ${columns}
  `
  return inserted
}

export async function findScheduled(db: Db, companyId: number, id: number): Promise<ScheduledMessage | undefined> {
  const [found] = await db<ScheduledMessage[]>`
    select ${columns} from scheduled_messages where (company_id, id) = (${companyId}::bigint, ${id}::bigint)
  `
  return found
}

type ScheduledFilter = {
  conversationId: number | undefined
  statuses: readonly string[] | undefined
  before: number | undefined
  limit: number
}

/** Lists scheduled messages, newest first, one index range per status. */
export const listScheduled = (
  db: Db,
  companyId: number,
  { conversationId, statuses = SCHEDULED_STATUSES, before = Number.MAX_SAFE_INTEGER, limit }: ScheduledFilter,
): Promise<ScheduledMessage[]> => db<ScheduledMessage[]>`
  select ${columns}
  from unnest(${[...new Set(statuses)]}::text[]) as requested (requested_status)
  cross join lateral (
    select *
    from scheduled_messages
    where company_id = ${companyId} and status = requested_status and id < ${before}
      ${conversationId === undefined ? sql`` : sql`and conversation_id = ${conversationId}`}
    order by id desc
    limit ${limit}
  ) as scheduled
  order by id desc
  limit ${limit}
`

/** Deletes a waiting or failed message; returns its conversation, or undefined. */
export async function deleteScheduled(
  db: Db,
  companyId: number,
  id: number,
): Promise<{ conversationId: number | null } | undefined> {
  const [deleted] = await db<{ conversationId: number | null }[]>`
    delete from scheduled_messages
    where (company_id, id) = (${companyId}::bigint, ${id}::bigint) and status <> 'sent'
    returning conversation_id
  `
  return deleted
}

type SendRights = {
  isSenderRemoved: boolean
  key: { name: string; isRevoked: boolean; isExpired: boolean; permissions: Permission[] } | null
}

export type DueMessage = Pick<ScheduledMessage, 'status' | 'conversationId' | 'senderName'> & {
  senderId: number
  /** Since the due time. */
  lateMs: number
  rights: SendRights
} & ({ isReply: true; body: ContentBody } | { isReply: false; body: SendBody })

/** Returns null as body if no longer scheduled. */
export async function findDue(db: Db, companyId: number, id: number): Promise<DueMessage | undefined> {
  const [found] = await db<DueMessage[]>`
    select
      scheduled.status, scheduled.conversation_id, scheduled.sender_name, scheduled.sender_id, scheduled.is_reply,
      scheduled.body, (extract(epoch from now() - scheduled.send_at) * 1000)::float8 as late_ms,
      json_build_object(
        'isSenderRemoved', sender.deleted_at is not null,
        'key', case when key.client_id is not null then json_build_object(
          'name', key.name,
          'isRevoked', key.revoked_at is not null,
          'isExpired', coalesce(key.expires_at <= now(), false),
          'permissions', key.permissions
        ) end
      ) as rights
    from scheduled_messages scheduled
    join senders sender on (sender.company_id, sender.id) = (scheduled.company_id, scheduled.sender_id)
    left join api_keys key on (key.company_id, key.client_id) = (scheduled.company_id, scheduled.client_id)
    where (scheduled.company_id, scheduled.id) = (${companyId}::bigint, ${id}::bigint)
  `
  return found
}

export async function failScheduled(db: Db, companyId: number, id: number, error: ScheduledError): Promise<void> {
  await db`
    update scheduled_messages
    set status = 'failed', error = ${db.json(error)}, body = null, ended_at = now()
    where (company_id, id) = (${companyId}::bigint, ${id}::bigint) and status = 'scheduled'
  `
}

export async function failWaiting(db: Db, companyId: number, error: ScheduledError): Promise<void> {
  await db`
    update scheduled_messages
    set status = 'failed', error = ${db.json(error)}, body = null, ended_at = now()
    where company_id = ${companyId} and status = 'scheduled'
  `
}

/** Clears the content after sending: the sent message has a copy. */
export async function endSent(db: Db, companyId: number, id: number): Promise<void> {
  await db`
    update scheduled_messages
    set body = null, text = null
    where (company_id, id) = (${companyId}::bigint, ${id}::bigint) and status = 'sent'
  `
}

/** Deletes up to `limit` messages scheduled to a person; returns how many. */
export async function eraseScheduled(
  db: Db,
  companyId: number,
  identities: readonly string[],
  limit: number,
): Promise<number> {
  const erased = await db`
    delete from scheduled_messages
    where (company_id, id) in (
      select company_id, id
      from scheduled_messages
      where company_id = ${companyId} and identity = any (${[...identities]}::text[])
      limit ${limit}
    )
  `
  return erased.count
}
