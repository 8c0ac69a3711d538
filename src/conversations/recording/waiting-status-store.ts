import { type Db, jsonRows, sql } from '../../db/connect.ts'
import type { MessagePricing } from '../usage/usage.ts'

export type StatusRecord = {
  companyId: number
  /** Null: stored by an earlier version. */
  senderId: number | null
  wamid: string | null
  /** Used by some providers besides the wamid. */
  providerMessageId: string | null
  messageId: number | null
  /** Null: the provider reported only the wamid. */
  status: 'sent' | 'delivered' | 'read' | 'failed' | null
  occurredAt: Date | null
  arrivedAt: Date
  /** Digits; in groups, the participant's. */
  recipientPhone: string | null
  identities: readonly string[]
  pricing: MessagePricing | null
  error: { code: number | null; title: string | null; details: string | null } | null
  /** Null: not stored, arriving now. */
  waitingId: number | null
}

const columns = sql`
  waiting.company_id, waiting.sender_id, waiting.wamid, waiting.provider_message_id, null::bigint as message_id, waiting.status,
  waiting.occurred_at, waiting.created_at as arrived_at, waiting.recipient_phone,
  coalesce(waiting.recipients, '{}') as identities, waiting.pricing, waiting.error
`

export const lockDueStatuses = (tx: Db, limit: number): Promise<StatusRecord[]> => tx<StatusRecord[]>`
  select ${columns}, waiting.id as waiting_id
  from waiting_statuses waiting
  where waiting.look_at <= now()
  order by waiting.look_at, waiting.company_id, waiting.id
  limit ${limit}
  for update skip locked
`

/** Deletes matched statuses; others double their wait. */
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

/** Takes statuses waiting for messages about to be recorded. */
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
