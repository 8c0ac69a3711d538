import { type Db, jsonRows, sql } from '../../db/connect.ts'
import type { MessagePricing } from '../usage/usage.ts'

export type StatusRecord = {
  companyId: number
  /** Null: it waits since an earlier version, which did not store it. */
  senderId: number | null
  wamid: string | null
  /** The provider's own id of the message, where it has one beside the wamid. */
  providerMessageId: string | null
  /** Our own message id, as it travelled with the send. */
  messageId: number | null
  /** Null: only the wamid is reported. */
  status: 'sent' | 'delivered' | 'read' | 'failed' | null
  occurredAt: Date | null
  arrivedAt: Date
  /** Of the recipient; in a group of the participant. Digits. */
  recipientPhone: string | null
  /** Of the recipient: the identity of the phone number, and the user id. */
  identities: readonly string[]
  pricing: MessagePricing | null
  error: { code: number | null; title: string | null; details: string | null } | null
  /** Its row among the waiting ones; null: it arrives now. */
  waitingId: number | null
}

const columns = sql`
  waiting.company_id, waiting.sender_id, waiting.wamid, waiting.provider_message_id, null::bigint as message_id, waiting.status,
  waiting.occurred_at, waiting.created_at as arrived_at, waiting.recipient_phone,
  coalesce(waiting.recipients, '{}') as identities, waiting.pricing, waiting.error
`

/** Locks and returns the statuses that are to be looked up now. */
export const lockDueStatuses = (tx: Db, limit: number): Promise<StatusRecord[]> => tx<StatusRecord[]>`
  select ${columns}, waiting.id as waiting_id
  from waiting_statuses waiting
  where waiting.look_at <= now()
  order by waiting.look_at, waiting.company_id, waiting.id
  limit ${limit}
  for update skip locked
`

/** Deletes the statuses whose message was found. The others are looked up again once they have waited twice as long. */
export async function settleWaitingStatuses(
  tx: Db,
  records: readonly StatusRecord[],
  isFound: (record: StatusRecord) => boolean,
): Promise<void> {
  const rows = records.flatMap((record) =>
    record.waitingId === null
      ? []
      : [{ company_id: record.companyId, id: record.waitingId, is_found: isFound(record) }],
  )
  if (rows.length === 0) return
  await tx`
    with input as materialized (
      select * from jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, id bigint, is_found boolean)
    ),
    found as (
      delete from waiting_statuses waiting
      using input
      where input.is_found and (waiting.company_id, waiting.id) = (input.company_id, input.id)
    )
    update waiting_statuses waiting
    set look_at = now() + greatest(now() - waiting.created_at, interval '1 second')
    from input
    where not input.is_found and (waiting.company_id, waiting.id) = (input.company_id, input.id)
  `
}

/** Takes the waiting statuses of messages that are about to be recorded. */
export async function takeWaitingStatuses(
  tx: Db,
  messages: readonly { companyId: number; wamid: string }[],
): Promise<StatusRecord[]> {
  if (messages.length === 0) return []
  const rows = messages.map(({ companyId, wamid }) => ({ company_id: companyId, wamid }))
  return await tx<StatusRecord[]>`
    delete from waiting_statuses waiting
    using jsonb_to_recordset(${jsonRows(tx, rows)}) as input (company_id bigint, wamid text)
    where (waiting.company_id, waiting.wamid) = (input.company_id, input.wamid)
    returning ${columns}, null::bigint as waiting_id
  `
}
