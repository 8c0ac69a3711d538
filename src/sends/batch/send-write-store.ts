import { isAmong, recordSentReactions } from '../../conversations/message-store.ts'
import { readUpTo } from '../../conversations/recording/conversation-write-store.ts'
import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { LEASE_SECONDS, toKeyColumns } from '../../http/idempotency/idempotency-store.ts'
import type { RecipientReport } from '../../people/identify.ts'
import type { Send } from '../compose-message.ts'
import { giveBackPlaces } from './daily-limit-store.ts'
import type { SendPlan } from './decide-sends.ts'

/** Inserts pending messages and reserves Idempotency-Keys. Returns reservation ids by message id. */
export async function insertPendingMessages(
  tx: Db,
  messages: SendPlan['messages'],
  at: Date,
): Promise<Map<number, number>> {
  const rows = messages.map(({ send, id, conversationId, seq }) => ({
    companyId: send.companyId,
    id,
    conversationId,
    seq,
    type: send.type,
    template: send.template?.name,
    category: send.template?.category,
    text: send.text,
    media: send.media,
    content: send.content,
    quotedWamid: send.quotedWamid,
    senderName: send.senderName,
  }))
  const keys = messages.flatMap(({ send: { key }, id }) => (key === null ? [] : [{ ...toKeyColumns(key), id }]))
  const reserved = await tx<{ id: number; messageId: number }[]>`
    with message as (
      insert into messages (
        company_id, id, conversation_id, seq, direction, type, template, category, text, media, content,
        quoted_wamid, status, sender_name, sent_at, created_at, updated_at
      )
      overriding system value
      select
        input.company_id, input.id, input.conversation_id, input.seq, 'outbound', input.type, input.template,
        input.category, input.text, input.media, input.content, input.quoted_wamid, 'pending',
        input.sender_name, ${at}, ${at}, ${at}
      from ${inputRows(rows, {
        bigint: ['companyId', 'id', 'conversationId', 'seq'],
        text: ['type', 'template', 'category', 'text', 'quotedWamid', 'senderName'],
        jsonb: ['media', 'content'],
      })}
    )
    insert into idempotency_keys (company_id, client_id, method, path, key, digest, message_id, lease_until)
    select
      input.company_id, input.client_id, input.method, input.path, input.key, decode(input.digest, 'base64'), input.id,
      clock_timestamp() + ${LEASE_SECONDS} * interval '1 second'
    from ${inputRows(keys, { bigint: ['companyId', 'id'], text: ['clientId', 'method', 'path', 'key', 'digest'] })}
    order by input.company_id, input.client_id, input.method, input.path, input.key
    returning id, message_id
  `
  return new Map(reserved.map(({ id, messageId }) => [messageId, id]))
}

export async function writeSlots(tx: Db, slots: SendPlan['slots']): Promise<void> {
  await tx`
    update sender_limits limits
    set next_slot_at = to_timestamp(input.next_slot_ms / 1000)
    from ${inputRows(slots, { bigint: ['companyId', 'senderId'], 'double precision': ['nextSlotMs'] })}
    where (limits.company_id, limits.sender_id) = (input.company_id, input.sender_id)
  `
}

export type Recipient = RecipientReport & { readonly companyId: number; readonly requestedIdentity: string }

export type CompletedSend = {
  companyId: number
  messageId: number
  status: 'sent' | 'failed' | 'unknown'
  wamid: string | null
  providerMessageId: string | null
  /** Null: the provider reported no other identity. */
  recipient: Recipient | null
  error: { code: number | null; title: string; details: string | null } | null
  hasProviderMedia: boolean
  /** Null unless an accepted reaction. */
  reaction: { targetId: number; targetWamid: string; emoji: string | null } | null
  /** Refused sends return their daily-limit place. */
  isLimited: boolean
  idempotencyId: number | null
  scheduledId: number | null
  /** Stored with the key. Null: nothing was sent, so releases the key and reschedules the message. */
  answer: { status: number; body: string } | null
}

const GIVEN_UP = { code: null, title: 'The database answered too late: nothing was sent', details: null }

/** Outcome when the caller got 503 before the provider was called. */
export const givenUp = (
  { companyId, dailyLimit, scheduledId }: Send,
  { messageId, idempotencyId }: { messageId: number; idempotencyId: number | null },
): CompletedSend => ({
  companyId,
  messageId,
  status: 'failed',
  error: GIVEN_UP,
  isLimited: dailyLimit !== null,
  idempotencyId,
  scheduledId,
  wamid: null,
  providerMessageId: null,
  recipient: null,
  hasProviderMedia: false,
  reaction: null,
  answer: null,
})

/**
 * Writes send outcomes in one round trip. Statuses already reported by provider events never move back. Accepted and
 * unknown sends mark conversations as read; refused ones return their daily-limit place.
 */
export async function completeSends(tx: Db, completed: readonly CompletedSend[], at: Date): Promise<void> {
  // With `pinPlans`, messages are locked in input order, which must be the key order used everywhere.
  const sends = completed.toSorted((one, other) => one.companyId - other.companyId || one.messageId - other.messageId)
  const reached = sends.filter(({ status }) => status !== 'failed').map(toMessage)
  const refused = sends.filter(({ status, isLimited }) => status === 'failed' && isLimited).map(toMessage)
  const reactions = sends.flatMap(({ companyId, messageId, reaction }) =>
    reaction === null ? [] : [{ ...reaction, companyId, messageId }],
  )
  const answered = sends.filter(({ idempotencyId, answer }) => idempotencyId !== null && answer !== null)
  const released = sends.filter(({ idempotencyId, answer }) => idempotencyId !== null && answer === null)
  const waiting = sends.filter(({ scheduledId, answer }) => scheduledId !== null && answer === null)
  await Promise.all([
    writeOutcomes(tx, sends, at),
    reached.length > 0 && readUpTo(tx, reached),
    refused.length > 0 && giveBackPlaces(tx, refused),
    reactions.length > 0 && recordSentReactions(tx, reactions, at),
    answered.length > 0 && keepAnswers(tx, answered),
    released.length > 0 && releaseKeys(tx, released),
    waiting.length > 0 && returnScheduled(tx, waiting),
  ])
}

const toMessage = ({ companyId, messageId }: CompletedSend) => ({ companyId, id: messageId })

const writeOutcomes = (tx: Db, sends: readonly CompletedSend[], at: Date) => tx`
  update messages message
  set
    status = case
      when message_status_rank(outcome.status) > message_status_rank(message.status) then outcome.status
      else message.status
    end,
    error = case
      when message_status_rank(outcome.status) > message_status_rank(message.status) then outcome.error
      else message.error
    end,
    wamid = coalesce(message.wamid, outcome.wamid),
    provider_message_id = coalesce(message.provider_message_id, outcome.provider_message_id),
    updated_at = ${at}
  from ${inputRows(
    sends.map(toOutcome),
    {
      bigint: ['companyId', 'messageId'],
      text: ['status', 'wamid', 'providerMessageId'],
      jsonb: ['error'],
    },
    'outcome',
  )}
  where (message.company_id, message.id) = (outcome.company_id, outcome.message_id)
    and ${isAmong(sends.map(({ messageId }) => messageId))}
`

const toOutcome = (send: CompletedSend) => ({
  companyId: send.companyId,
  messageId: send.messageId,
  status: send.status,
  wamid: send.wamid,
  providerMessageId: send.providerMessageId,
  error: send.error,
})

const keepAnswers = (tx: Db, sends: readonly CompletedSend[]) => tx`
  update idempotency_keys key
  set answer_status = outcome.answer_status, answer_body = outcome.answer_body
  from ${inputRows(
    sends.map(toKey),
    {
      bigint: ['companyId', 'idempotencyId'],
      smallint: ['answerStatus'],
      text: ['answerBody'],
    },
    'outcome',
  )}
  where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id) and key.answer_status is null
`

const releaseKeys = (tx: Db, sends: readonly CompletedSend[]) => tx`
  delete from idempotency_keys key
  using ${inputRows(sends.map(toKey), { bigint: ['companyId', 'messageId', 'idempotencyId'] }, 'outcome')}
  where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id)
    and key.answer_status is null
    and key.message_id = outcome.message_id
`

const toKey = (send: CompletedSend) => ({
  companyId: send.companyId,
  messageId: send.messageId,
  idempotencyId: send.idempotencyId,
  answerStatus: send.answer?.status ?? null,
  answerBody: send.answer?.body ?? null,
})

/** Records outcomes in the transaction that creates the messages, so that none is sent twice. */
export async function recordScheduled(tx: Db, messages: SendPlan['messages']): Promise<void> {
  const rows = messages.flatMap(({ send, id, conversationId }) =>
    send.scheduledId === null
      ? []
      : [{ companyId: send.companyId, id: send.scheduledId, messageId: id, conversationId }],
  )
  if (rows.length === 0) return
  await tx`
    update scheduled_messages scheduled
    set status = 'sent', message_id = input.message_id, conversation_id = input.conversation_id, ended_at = now()
    from ${inputRows(rows, { bigint: ['companyId', 'id', 'messageId', 'conversationId'] })}
    where (scheduled.company_id, scheduled.id) = (input.company_id, input.id)
  `
}

/** Reschedules sends that certainly didn't reach the customer, unless ended meanwhile. */
export async function returnScheduled(
  tx: Db,
  sends: readonly { companyId: number; messageId: number; scheduledId: number | null }[],
): Promise<void> {
  const rows = sends.map(({ companyId, scheduledId, messageId }) => ({
    companyId,
    id: scheduledId,
    messageId,
  }))
  await tx`
    update scheduled_messages scheduled
    set status = 'scheduled', message_id = null, ended_at = null
    from ${inputRows(rows, { bigint: ['companyId', 'id', 'messageId'] })}
    where (scheduled.company_id, scheduled.id, scheduled.message_id) = (input.company_id, input.id, input.message_id)
      and scheduled.body is not null
  `
}
