import { setTimeout as pause } from 'node:timers/promises'
import { WINDOW_MS } from '../conversations/window.ts'
import type { Clock } from '../platform/clock.ts'
import {
  type AppError,
  asFinal,
  dailyLimitReached,
  idempotencyKeyInUse,
  marketingRefused,
  overloaded,
  parameterMismatch,
  providerText,
  providerThrottled,
  rateLimitExceeded,
  recipientNotOnWhatsapp,
  refusedByProvider,
  sendFailed,
  sendOutcomeUnknown,
  serviceUnavailable,
  sessionWindowClosed,
  templateNotApproved,
  templateNotFound,
  unsupportedByTransport,
  validationError,
} from '../platform/errors.ts'
import { customerIdentity, digitsOf, phoneIdentity, USER_ID } from '../platform/text/phone.ts'
import { providerMessage } from '../providers/graph-answer.ts'
import type { OutboundMessage, Providers, SendAddress, SendFailure, SendOutcome } from '../providers/provider.ts'
import type { Breaker } from '../providers/provider-api.ts'
import { type Sender, usesMarketingAddress } from '../senders/sender.ts'
import type { PreparedSend, SendBatches } from './batch/send-batches.ts'
import type { CompletedSend, Recipient } from './batch/send-write-store.ts'
import {
  type ComposeDeps,
  type Composed,
  composeMessage,
  type Outbound,
  quotedWamidOf,
  type SendCaller,
  type SendRules,
  toPrepare,
} from './compose-message.ts'
import type { SendRequest } from './send-request.ts'

export type SendDeps = ComposeDeps &
  SendRules &
  SendBatches & {
    clock: Clock
    providers: Providers
    breaker: Breaker
    onSent: (provider: string, outcome: SendOutcome, durationMs: number) => void
    /** Called if an outcome couldn't be written; the message stays pending until unknown. */
    onIncomplete: (error: unknown) => void
  }

/** Either suffices. */
export const SEND_PERMISSIONS = ['WhatsApp', 'Transactional'] as const
export const REPLY_PERMISSIONS = ['WhatsApp'] as const

/**
 * Sends one WhatsApp message (spec: POST templates/whatsapp/send; decisions: WhatsApp send). Writes the message before
 * calling the provider and completes afterwards. Never repeats a call with unknown outcome.
 */
export async function sendMessage(deps: SendDeps, caller: SendCaller, request: SendRequest): Promise<SendReply> {
  const { companyId } = caller
  const composed = await composeMessage(deps, companyId, request)
  const { sender } = composed
  const attempt = await deps.breaker.run({ companyId, id: sender.id }, async () => {
    const message = accepted(await deps.prepareSend(toPrepare(deps, caller, request, composed)), deps.clock)
    if (caller.key !== null) caller.key.id = message.idempotencyId
    if (message.waitSeconds > 0) await pause(message.waitSeconds * 1000)
    const toSend = {
      recipient: request.recipient,
      content: composed.outbound.content,
      reference: String(message.messageId),
      quotedWamid: quotedWamidOf(composed),
      directSend: request.directSend,
    }
    return { message, outcome: await callProvider(deps, sender, toSend, addressOf(composed)) }
  })
  if (attempt === undefined) throw serviceUnavailable('The provider is not reachable at present; nothing was sent')
  return complete(
    deps,
    caller,
    { ...attempt.message, sender, recipient: request.recipient, outbound: composed.outbound },
    attempt.outcome,
  )
}

function accepted(prepared: PreparedSend, clock: Clock): Extract<PreparedSend, { refusal: null }> {
  switch (prepared.refusal) {
    case 'consent':
      throw marketingRefused()
    case 'window':
      throw sessionWindowClosed(prepared.lastInboundAt, closedAt(prepared.lastInboundAt))
    case 'limit':
      throw dailyLimitReached(Math.max(1, Math.ceil((prepared.retryAt.getTime() - clock.now().getTime()) / 1000)))
    case 'key':
      throw idempotencyKeyInUse()
    case 'busy':
      throw overloaded(1)
    case 'moved':
      throw serviceUnavailable('The customer has another address by now: nothing was sent, try again', 1)
    case 'throttle':
      throw rateLimitExceeded(Math.ceil(prepared.waitSeconds), 'The sender, or this customer, gets no more at present')
    default:
      return prepared
  }
}

const closedAt = (lastInboundAt: Date | null): Date | null =>
  lastInboundAt === null ? null : new Date(lastInboundAt.getTime() + WINDOW_MS)

const addressOf = ({ sender, template }: Composed): SendAddress =>
  template?.category === 'MARKETING' && usesMarketingAddress(sender) ? 'marketing' : 'messages'

/** A refusal by the marketing address proves nothing was sent; retries the other one unless the operator chose. */
async function callProvider(
  deps: SendDeps,
  sender: Sender,
  message: OutboundMessage,
  address: SendAddress,
): Promise<SendOutcome> {
  const provider = deps.providers[sender.provider]
  if (provider === undefined) {
    const error = { code: null, title: `no adapter for the provider ${sender.provider}`, details: null }
    return { kind: 'unreachable', error }
  }
  const startedAt = performance.now()
  const outcome = await provider.send(sender, provider.toWire(message), address)
  deps.onSent(sender.provider, outcome, performance.now() - startedAt)
  const isElsewhere = outcome.kind === 'refused' && outcome.reason === 'marketing_address'
  if (!isElsewhere || sender.marketingAddress !== 'auto' || address === 'messages') return outcome
  return callProvider(deps, sender, message, 'messages')
}

type Accepted = Extract<SendOutcome, { kind: 'accepted' }>
type SentMessage = {
  conversationId: number
  messageId: number
  idempotencyId: number | null
  sender: Sender
  recipient: string
  outbound: Outbound
}

async function complete(
  deps: SendDeps,
  caller: SendCaller,
  message: SentMessage,
  outcome: SendOutcome,
): Promise<SendReply> {
  const { type } = message.outbound.content
  const asked = { path: 'type', what: type, part: partOf(type), provider: message.sender.provider }
  const answer = outcome.kind === 'accepted' ? toReply(message, outcome.wamid) : toRefusal(outcome, asked)
  try {
    await deps.completeSend(toCompletedSend(deps.clock.now(), caller, message, outcome, answer))
  } catch (error) {
    // The provider was called, so must not report nothing sent, whatever the database state.
    deps.onIncomplete(error)
    throw outcome.kind === 'accepted' ? sendOutcomeUnknown() : answer
  }
  if ('success' in answer) return answer
  throw answer
}

const partOf = (type: OutboundMessage['content']['type']): string =>
  ['image', 'video', 'audio', 'document', 'sticker'].includes(type) ? 'media' : type

function toCompletedSend(
  at: Date,
  caller: SendCaller,
  message: SentMessage,
  outcome: SendOutcome,
  answer: SendReply | AppError,
): CompletedSend {
  const isAccepted = outcome.kind === 'accepted'
  return {
    companyId: caller.companyId,
    messageId: message.messageId,
    status: isAccepted ? 'sent' : outcome.kind === 'unknown' ? 'unknown' : 'failed',
    wamid: isAccepted ? outcome.wamid : null,
    providerMessageId: isAccepted ? outcome.providerMessageId : null,
    recipient: isAccepted ? recipientOf(outcome, caller.companyId, message, at) : null,
    isLimited: message.sender.dailyLimit !== null,
    error: isAccepted ? null : outcome.error,
    hasProviderMedia: isAccepted && typeof message.outbound.media?.providerMediaId === 'string',
    reaction: isAccepted ? reactionOf(message.outbound) : null,
    idempotencyId: message.idempotencyId,
    scheduledId: caller.scheduledId,
    answer: keptAnswer(answer),
  }
}

/** Returns the provider's identities for the recipient, if they add any; must ignore reports about another one. */
function recipientOf(
  { input, waId, userId }: Accepted,
  companyId: number,
  { sender, recipient }: SentMessage,
  at: Date,
): Recipient | null {
  const requestedIdentity = customerIdentity(recipient)
  if (input !== null && customerIdentity(input) !== requestedIdentity) return null
  const isUserId = waId !== null && USER_ID.test(waId)
  const addresses = {
    phone: waId === null || isUserId ? null : digitsOf(waId),
    userId: userId !== null && USER_ID.test(userId) ? userId : isUserId ? waId : null,
  }
  const identities = [addresses.phone === null ? null : phoneIdentity(addresses.phone), addresses.userId]
  if (identities.every((identity) => identity === null || identity === requestedIdentity)) return null
  return { companyId, requestedIdentity, ...addresses, account: sender.wabaAccountId, at: at.getTime() }
}

const reactionOf = ({ structured, content }: Outbound): CompletedSend['reaction'] =>
  structured?.type === 'reaction' && content.type === 'reaction'
    ? { targetId: structured.reaction.messageId, targetWamid: content.targetWamid, emoji: content.emoji }
    : null

export type SendReply = {
  success: true
  data: { success: true; chatId: number; messageId: number; wamid: string | null }
}

/** The wamid is null until the provider assigns one. */
export const toReply = (message: { conversationId: number; messageId: number }, wamid: string | null): SendReply => ({
  success: true,
  data: { success: true, chatId: message.conversationId, messageId: message.messageId, wamid },
})

/** Builds the stored answer: acceptance, provider refusals and unknown outcomes. */
export function keptAnswer(answer: SendReply | AppError): CompletedSend['answer'] {
  if ('success' in answer) return { status: 200, body: JSON.stringify(answer) }
  return answer.final ? { status: answer.status, body: JSON.stringify(answer.body) } : null
}

type Asked = { path: string; what: string; part: string; provider: string }

/** Builds the refusal. Final ones are stored with the Idempotency-Key; others can be retried. */
export function toRefusal(outcome: SendFailure, asked: Asked): AppError {
  switch (outcome.kind) {
    case 'unreachable':
      return serviceUnavailable('The provider could not be reached; nothing was sent')
    case 'unknown':
      return asFinal(sendOutcomeUnknown())
    case 'throttled':
      return providerThrottled(outcome.retryAfterSeconds)
    case 'refused':
      return outcome.reason === 'unavailable'
        ? serviceUnavailable('The provider is not available at present; nothing was sent')
        : asFinal(providerRefusal(outcome, asked))
  }
}

function providerRefusal({ reason, error }: Extract<SendFailure, { kind: 'refused' }>, asked: Asked): AppError {
  switch (reason) {
    case 'not_on_whatsapp':
      return recipientNotOnWhatsapp()
    case 'window_closed':
      return sessionWindowClosed(null, null)
    case 'parameter_mismatch':
      return parameterMismatch({ provider: providerMessage(error) })
    case 'template_not_found':
      return templateNotFound()
    case 'template_not_approved':
      return templateNotApproved('that was asked for', 'paused or disabled at the provider')
    case 'invalid_parameter':
      return providerText(error.title)
    case 'category':
      return validationError([{ path: 'category', message: `is refused by the provider: ${providerMessage(error)}` }])
    case 'invalid_number':
      return refusedByProvider('recipient', providerMessage(error), 'invalid_phone_number')
    case 'recipient':
      return refusedByProvider('recipient', providerMessage(error), 'validation_error')
    case 'request':
      return refusedByProvider(asked.part, providerMessage(error), 'validation_error')
    case 'unsupported':
      return unsupportedByTransport(asked.path, asked.what, asked.provider)
    default:
      return sendFailed()
  }
}
