import { isAmong } from '../../conversations/message-month.ts'
import { recordSentReactions } from '../../conversations/recording/sent-reaction-store.ts'
import { readUpTo } from '../../conversations/unread-store.ts'
import { type Db, jsonRows } from '../../db/connect.ts'
import type { RecipientReport } from '../../people/recipient.ts'
import { giveBackPlaces } from './daily-limit-store.ts'
import { returnScheduled } from './scheduled-send-store.ts'

export type Recipient = RecipientReport & { readonly companyId: number; readonly requestedIdentity: string }

export type CompletedSend = {
  companyId: number
  messageId: number
  status: 'sent' | 'failed' | 'unknown'
  wamid: string | null
  providerMessageId: string | null
  /** Null: the provider reported none. */
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
      when message_status_rank(outcome.status) > message_status_rank(message.status) then nullif(outcome.error, 'null')
      else message.error
    end,
    wamid = coalesce(message.wamid, outcome.wamid),
    provider_message_id = coalesce(message.provider_message_id, outcome.provider_message_id),
    updated_at = ${at}
  from jsonb_to_recordset(${jsonRows(tx, sends.map(toOutcome))}) as outcome (
    company_id bigint, message_id bigint, status text, wamid text, provider_message_id text, error jsonb
  )
  where (message.company_id, message.id) = (outcome.company_id, outcome.message_id)
    and ${isAmong(sends.map(({ messageId }) => messageId))}
`

const toOutcome = (send: CompletedSend) => ({
  company_id: send.companyId,
  message_id: send.messageId,
  status: send.status,
  wamid: send.wamid,
  provider_message_id: send.providerMessageId,
  error: send.error,
})

const keepAnswers = (tx: Db, sends: readonly CompletedSend[]) => tx`
  update idempotency_keys key
  set answer_status = outcome.answer_status, answer_body = outcome.answer_body
  from jsonb_to_recordset(${jsonRows(tx, sends.map(toKey))}) as outcome (
    company_id bigint, idempotency_id bigint, answer_status smallint, answer_body text
  )
  where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id) and key.answer_status is null
`

const releaseKeys = (tx: Db, sends: readonly CompletedSend[]) => tx`
  delete from idempotency_keys key
  using jsonb_to_recordset(${jsonRows(tx, sends.map(toKey))}) as outcome (
    company_id bigint, message_id bigint, idempotency_id bigint
  )
  where (key.company_id, key.id) = (outcome.company_id, outcome.idempotency_id)
    and key.answer_status is null
    and key.message_id = outcome.message_id
`

const toKey = (send: CompletedSend) => ({
  company_id: send.companyId,
  message_id: send.messageId,
  idempotency_id: send.idempotencyId,
  answer_status: send.answer?.status ?? null,
  answer_body: send.answer?.body ?? null,
})
