import type { Db } from '../db/connect.ts'
import { listMessagesByIds, type Message } from './conversation-store.ts'

type ReportedStatus = {
  status: string
  occurredAt: Date | null
  createdAt: Date
  error: Message['error']
}

type MessageDelivery = {
  registrationId: number
  deliveryId: number
  status: 'pending' | 'delivered' | 'dead' | 'skipped'
  attempts: number
}

export type StoredMessageDetails = { message: Message; statuses: ReportedStatus[]; deliveries: MessageDelivery[] }

export async function findMessageDetails(
  db: Db,
  companyId: number,
  conversationId: number,
  id: number,
): Promise<StoredMessageDetails | undefined> {
  const [message] = await listMessagesByIds(db, companyId, [id])
  if (message === undefined || message.conversationId !== conversationId) return undefined
  const statuses = await db<ReportedStatus[]>`
    select status, occurred_at, created_at, error
    from message_status_events
    where company_id = ${companyId} and message_id = ${id}
    order by created_at, status
  `
  return { message, statuses, deliveries: await listDeliveriesOf(db, companyId, message.wamid, message.createdAt) }
}

const DAY_MS = 86_400_000

/** An envelope is stored with its message, on the same day or just after midnight. */
async function listDeliveriesOf(
  db: Db,
  companyId: number,
  wamid: string | null,
  createdAt: Date,
): Promise<MessageDelivery[]> {
  if (wamid === null) return []
  const day = Math.floor(createdAt.getTime() / DAY_MS)
  return db<MessageDelivery[]>`
    select delivery.registration_id, delivery.id as delivery_id, delivery.status, delivery.attempts
    from envelopes envelope
    cross join lateral unnest(envelope.delivery_ids) as sent (id)
    cross join lateral (
      select existing.registration_id, existing.id, existing.status, existing.attempts
      from deliveries existing
      where existing.id = sent.id and existing.company_id = ${companyId} and existing.day = envelope.day
      limit 1
    ) as delivery
    where envelope.company_id = ${companyId} and envelope.event = 'whatsapp.message.received' and envelope.event_id = ${wamid}
      and envelope.day between ${day}::integer and ${day + 1}::integer
    order by delivery.id
  `
}
