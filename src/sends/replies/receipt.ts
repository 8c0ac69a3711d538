import type { Publish } from '../../changes/live-change.ts'
import type { Conversation } from '../../conversations/list/conversation-list-store.ts'
import { markRead } from '../../conversations/recording/conversation-write-store.ts'
import type { Pool } from '../../db/connect.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { type AppError, providerText, serviceUnavailable, sessionWindowClosed } from '../../platform/errors.ts'
import type { SendFailure } from '../../providers/provider.ts'
import { resolveSender } from '../../senders/sender.ts'
import { findLastInbound } from '../message-store.ts'
import { type SendDeps, toRefusal } from '../send.ts'

export type ReceiptDeps = Pick<SendDeps, 'senders' | 'providers' | 'breaker'> & { db: Pool; publish: Publish }

/** Provider code for an unknown or expired message. */
const VALUE_INVALID = 131009

/** Marks a customer's messages as read, here and at the provider. */
export async function markConversationRead(
  deps: ReceiptDeps,
  companyId: number,
  conversation: Conversation,
): Promise<void> {
  const { id, messageCount } = conversation
  const wamid = await withTimeout(findLastInbound(deps.db, companyId, id, messageCount))
  if (wamid !== undefined) await sendReceipt(deps, companyId, conversation, wamid, false)
  // Messages received meanwhile stay unread.
  await withTimeout(markRead(deps.db, companyId, id, messageCount))
  deps.publish([{ topic: 'conversation', companyId, id }])
}

/** Shows a typing indicator, which also marks messages as read; 422 `session_window_closed` without inbound message. */
export async function showTyping(deps: ReceiptDeps, companyId: number, conversation: Conversation): Promise<void> {
  const { id, messageCount } = conversation
  const wamid = await withTimeout(findLastInbound(deps.db, companyId, id, messageCount))
  if (wamid === undefined) throw sessionWindowClosed(null, null)
  await sendReceipt(deps, companyId, conversation, wamid, true)
}

async function sendReceipt(
  { senders, providers, breaker }: ReceiptDeps,
  companyId: number,
  { senderId }: Conversation,
  wamid: string,
  isTyping: boolean,
): Promise<void> {
  const sender = resolveSender(await senders.listFor(companyId), { id: senderId })
  const provider = providers[sender.provider]
  const attempt = await breaker.run({ companyId, id: sender.id }, async () => ({
    outcome: (await provider?.markRead(sender, wamid, isTyping)) ?? NO_ADAPTER,
  }))
  const outcome = attempt?.outcome
  if (outcome === undefined) throw serviceUnavailable('The provider is not reachable at present')
  if (outcome.kind === 'taken') return
  throw receiptRefusal(outcome, isTyping ? 'typing' : 'read', sender.provider)
}

const NO_ADAPTER: SendFailure = {
  kind: 'unreachable',
  error: { code: null, title: 'There is no adapter for the provider', details: null },
}

function receiptRefusal(outcome: SendFailure, what: string, provider: string): AppError {
  if (outcome.kind === 'unknown') return serviceUnavailable('The provider did not answer; the request may be repeated')
  if (outcome.kind === 'refused' && outcome.error.code === VALUE_INVALID) return providerText(outcome.error.title)
  return toRefusal(outcome, { path: what, what, part: what, provider })
}
