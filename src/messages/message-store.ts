import { type Db, jsonRows } from '../db/connect.ts'
import { LONGEST_WAIT_SECONDS, PAIR_BURST, PAIR_SECONDS } from './throttle.ts'

/** One send, before the provider is called. */
export type SendToPrepare = {
  companyId: number
  senderId: number
  /** The customer's identity. */
  customer: string
  /** The digits dialled; null when the recipient is a user id. */
  phone: string | null
  contactSource: string
  sourceType: string
  needsWindow: boolean
  needsConsent: boolean
  /** Null: the daily limit does not concern this send. */
  dailyLimit: number | null
  /** Seconds between two messages of the sender; null: no throttle, neither of the sender nor per customer. */
  slotSeconds: number | null
  type: string
  text: string | null
  media: object | null
  senderName: string
  idempotencyId: number | null
}

export type PreparedSend =
  | { refusal: 'consent' }
  | { refusal: 'window'; lastInboundAt: Date | null }
  | { refusal: 'limit'; retryAt: Date }
  /** Its Idempotency-Key was released or claimed by a repeated request. */
  | { refusal: 'key' }
  /** Another transaction holds the lock of its customer. */
  | { refusal: 'busy' }
  /** Its slot is later than a send may wait. */
  | { refusal: 'throttle'; waitSeconds: number }
  /** It may be sent after this wait. */
  | { refusal: null; waitSeconds: number; conversationId: number; messageId: number }

/**
 * Decides for many sends at once whether each may go out, and writes the pending messages of those that may:
 * one round trip, one transaction (messages/sql/prepare-sends.sql). Answers in the order given.
 */
export async function prepareSends(db: Db, sends: readonly SendToPrepare[], at: Date): Promise<PreparedSend[]> {
  const items = sends.map((send, ord) => ({
    ord,
    company_id: send.companyId,
    sender_id: send.senderId,
    customer: send.customer,
    phone: send.phone,
    contact_source: send.contactSource,
    source_type: send.sourceType,
    needs_window: send.needsWindow,
    needs_consent: send.needsConsent,
    daily_limit: send.dailyLimit,
    slot_seconds: send.slotSeconds,
    type: send.type,
    text: send.text,
    media: send.media,
    sender_name: send.senderName,
    idempotency_id: send.idempotencyId,
  }))
  const rows = await db<PreparedRow[]>`
    select *
    from prepare_sends(
      ${jsonRows(db, items)}, ${at}, ${PAIR_SECONDS}, ${PAIR_BURST}, ${LONGEST_WAIT_SECONDS}
    )
    order by ord
  `
  return rows.map(toPrepared)
}

type PreparedRow = {
  refusal: 'consent' | 'window' | 'limit' | 'throttle' | 'key' | 'busy' | null
  lastInboundAt: Date | null
  retryAt: Date | null
  waitSeconds: number
  conversationId: number | null
  messageId: number | null
}

function toPrepared(row: PreparedRow): PreparedSend {
  if (row.refusal === 'consent' || row.refusal === 'key' || row.refusal === 'busy') return { refusal: row.refusal }
  if (row.refusal === 'window') return { refusal: 'window', lastInboundAt: row.lastInboundAt }
  if (row.refusal === 'limit' && row.retryAt !== null) return { refusal: 'limit', retryAt: row.retryAt }
  if (row.refusal === 'throttle') return { refusal: 'throttle', waitSeconds: row.waitSeconds }
  if (row.conversationId === null || row.messageId === null) throw new Error('A send was neither refused nor written')
  const { conversationId, messageId, waitSeconds } = row
  return { refusal: null, conversationId, messageId, waitSeconds }
}

/** How a send ended. */
export type CompletedSend = {
  companyId: number
  messageId: number
  status: 'sent' | 'failed' | 'unknown'
  wamid: string | null
  providerMessageId: string | null
  /** The identity of the recipient as given. */
  dialled: string
  /** The identity under which the provider knows the customer, when it told another than the one dialled. */
  customer: string | null
  error: { code: number | null; title: string; details: string | null } | null
  /** It was sent with media that the provider stores. */
  hasProviderMedia: boolean
  /** The reservation of the request's Idempotency-Key. */
  idempotencyId: number | null
  /** The answer that the key keeps. Null: nothing was sent, and the key is released. */
  answer: { status: number; body: string } | null
}

/**
 * Completes many sends: one round trip. A status that came from the provider's own events in the meantime is never
 * moved back. The customer's other identity becomes an alias, so that replies find this conversation; when the customer has
 * one already, the dialled number becomes an alias of that.
 */
export async function completeSends(db: Db, sends: readonly CompletedSend[], at: Date): Promise<undefined[]> {
  const items = sends.map((send) => ({
    company_id: send.companyId,
    message_id: send.messageId,
    status: send.status,
    wamid: send.wamid,
    provider_message_id: send.providerMessageId,
    dialled: send.dialled,
    customer: send.customer,
    error: send.error,
    idempotency_id: send.idempotencyId,
    answer_status: send.answer?.status ?? null,
    answer_body: send.answer?.body ?? null,
  }))
  await db`select complete_sends(${jsonRows(db, items)}, ${at})`
  return sends.map(() => undefined)
}

/**
 * Completes sends whose process died between preparing and completing: their outcome is unknown. Returns their messages.
 */
export const completeAbandoned = (db: Db, olderThanSeconds: number): Promise<{ companyId: number; id: number }[]> =>
  db<{ companyId: number; id: number }[]>`
    update messages
    set status = 'unknown', updated_at = now()
    where status = 'pending' and created_at < now() - make_interval(secs => ${olderThanSeconds})
    returning company_id, id
  `

export type SentMessage = { conversationId: number; id: number; wamid: string | null; status: string; isTaken: boolean }

/** The message of an earlier request, to answer it again. */
export async function findSentMessage(db: Db, companyId: number, messageId: number): Promise<SentMessage | undefined> {
  const rows = await db<SentMessage[]>`
    select conversation_id, id, wamid, status, wamid is not null or provider_message_id is not null as is_taken
    from messages
    where company_id = ${companyId} and id = ${messageId}
  `
  return rows[0]
}
