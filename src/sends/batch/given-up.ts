import type { CompletedSend } from './complete-store.ts'
import type { Send } from './decide-sends.ts'
import type { WrittenSend } from './prepare-sends.ts'

const ERROR = { code: null, title: 'The database answered too late: nothing was sent', details: null }

/** Outcome when the caller got 503 before the provider was called. */
export const givenUp = (
  { companyId, dailyLimit, scheduledId }: Send,
  { messageId, idempotencyId }: WrittenSend,
): CompletedSend => ({
  companyId,
  messageId,
  status: 'failed',
  error: ERROR,
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
