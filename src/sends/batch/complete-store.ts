import { isAmong } from '../../conversations/message-month.ts'
import { recordSentReactions } from '../../conversations/recording/sent-reaction-store.ts'
import { readUpTo } from '../../conversations/unread-store.ts'
import { type Db, jsonRows } from '../../db/connect.ts'
import type { RecipientReport } from '../../people/recipient.ts'
import { giveBackPlaces } from './daily-limit-store.ts'
import { returnScheduled } from './scheduled-send-store.ts'

/** The recipient of a send: the identity that it named, and those that the provider answered. */
export type Recipient = RecipientReport & { readonly companyId: number; readonly requestedIdentity: string }

/** How a send ended. */
export type CompletedSend = {
  companyId: number
  messageId: number
  status: 'sent' | 'failed' | 'unknown'
  wamid: string | null
  providerMessageId: string | null
  /** The identities under which the provider knows the recipient; null: it named none. */
  recipient: Recipient | null
  error: { code: number | null; title: string; details: string | null } | null
  /** It was sent with media that the provider stores. */
  hasProviderMedia: boolean
  /** The reaction that it was; null: it was a message, or was not accepted. */
  reaction: { targetId: number; targetWamid: string; emoji: string | null } | null
  /** It took part in a daily limit: a refused one gives its place back. */
  isLimited: boolean
  /** The reservation of the request's Idempotency-Key. */
  idempotencyId: number | null
  /** The scheduled message that it sent. */
  scheduledId: number | null
  /** The answer that the key keeps. Null: nothing was sent, the key is released, and a scheduled message waits again. */
  answer: { status: number; body: string } | null
}

/**
 * Writes the outcomes of many sends, in the caller's transaction; all statements are sent at once. A status that came from the
 * provider's own events in the meantime is never moved back. An accepted or unknown send reads its conversation; a refused one
 * gives its place in the daily limit back.
 */
export async function completeSends(tx: Db, completed: readonly CompletedSend[], at: Date): Promise<void> {
  // With pinPlans, messages are locked in input order, which must be the key order of all other statements.
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
