import {
  type AppError,
  asFinal,
  parameterMismatch,
  providerText,
  providerThrottled,
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
import { providerMessage } from '../providers/graph-answer.ts'
import type { SendFailure } from '../providers/provider.ts'
import type { CompletedSend } from './batch/complete-store.ts'

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
