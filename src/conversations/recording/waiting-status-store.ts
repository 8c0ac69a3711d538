import { type Db, jsonRows } from '../../db/connect.ts'
import { isRecent } from '../message-month.ts'
import type { MessagePricing } from '../usage/usage.ts'

export type StatusRecord = {
  companyId: number
  senderId: number
  wamid: string | null
  /** The provider's own id of the message, where it has one beside the wamid. */
  providerMessageId: string | null
  /** Our own message id, as it travelled with the send. */
  messageId: number | null
  /** Null: only the wamid is reported. */
  status: 'sent' | 'delivered' | 'read' | 'failed' | null
  occurredAt: Date | null
  pricing: MessagePricing | null
  error: { code: number | null; title: string | null; details: string | null } | null
  /** The identities of the recipient. */
  recipients?: readonly string[]
  arrivedAt?: Date
}

/** Waiting statuses that one call applies at most. */
const BATCH = 500

/**
 * Keeps the statuses that name a message by an id of the provider's which no message has yet: the answer to its send
 * may still be on its way to the database.
 */
export async function storeWaitingStatuses(tx: Db, records: readonly StatusRecord[]): Promise<void> {
  const items = records.map((record) => ({
    company_id: record.companyId,
    provider_message_id: record.providerMessageId,
    message_id: record.messageId,
    wamid: record.wamid,
    status: record.status,
    error: record.error,
    pricing: record.pricing,
    occurred_at: record.occurredAt,
    recipients: record.recipients,
    arrived_at: record.arrivedAt,
  }))
  await tx`
    insert into waiting_statuses (company_id, provider_message_id, wamid, status, error, pricing, occurred_at, recipients)
    select reported.company_id, reported.provider_message_id, reported.wamid, reported.status, nullif(reported.error, 'null'),
      nullif(reported.pricing, 'null'), reported.occurred_at, reported.recipients
    from jsonb_to_recordset(${jsonRows(tx, items)}) as reported (
      company_id bigint, provider_message_id text, message_id bigint, wamid text, status text, error jsonb,
      pricing jsonb, occurred_at timestamptz, recipients text[], arrived_at timestamptz
    )
    where not is_erased(
      reported.company_id, array_remove(array[reported.wamid, reported.provider_message_id], null), reported.recipients,
      reported.arrived_at
    )
    and not exists (
      select
      from messages message
      where (message.company_id, message.provider_message_id) = (reported.company_id, reported.provider_message_id)
        and ${isRecent()}
    )
    and not exists (
      select
      from messages message
      where (message.company_id, message.wamid) = (reported.company_id, reported.wamid) and ${isRecent()}
    )
    and not exists (
      select
      from messages message
      where (message.company_id, message.id) = (reported.company_id, reported.message_id) and ${isRecent()}
    )
  `
}

/** Deletes and returns the waiting statuses whose message exists by now. */
export function claimWaiting(tx: Db): Promise<StatusRecord[]> {
  return tx<StatusRecord[]>`
    delete from waiting_statuses waiting
    where (waiting.company_id, waiting.id) in (
      select candidate.company_id, candidate.id
      from waiting_statuses candidate
      join messages message
        on (message.company_id, message.provider_message_id) = (candidate.company_id, candidate.provider_message_id)
        and ${isRecent()}
      order by candidate.company_id, candidate.id
      limit ${BATCH}
      for update of candidate skip locked
    )
    returning waiting.company_id, waiting.provider_message_id, null::bigint as message_id, waiting.wamid,
      waiting.status, waiting.error, waiting.pricing, waiting.occurred_at
  `
}
