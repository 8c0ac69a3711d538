import { useSyncExternalStore } from 'react'
import type { Message, MessageContent } from '../../../client/src/generated/schemas.ts'
import { ApiError, api } from '../../client.ts'
import { faultText } from '../../parts/failure-text.ts'
import { queryClient } from '../../queries.ts'
import { SCOPE } from '../../scope.ts'
import { conversationQuery } from '../conversation-queries.ts'
import { messagesQuery } from '../message-queries.ts'

/**
 * A message on its way to the service. Its key makes it safe to repeat: the service sends one message for one key, so a
 * lost answer is asked for again, also after a reload.
 */
export type Outgoing = {
  key: string
  chatId: number
  content: MessageContent
  /** The text of the bubble. */
  shownText: string
  at: number
  /** The newest message when it was sent: its record comes after that. */
  afterId: number
  /** `checking`: the answer was lost, and the service is asked again. */
  state: 'sending' | 'checking' | 'failed' | 'unknown'
  fault?: string
}

const STORED = `parley.outbox.${SCOPE}`
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 15_000
/** The service knows keys for 48 hours. An answer that is lost for longer than an hour stays unknown. */
const ASK_FOR_MS = 60 * 60 * 1_000

let outgoing: readonly Outgoing[] = []
const listeners = new Set<() => void>()

/** The messages of a conversation that the service has not confirmed. */
export function useOutgoing(): readonly Outgoing[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => outgoing,
  )
}

/** The messages of a conversation that its list does not show yet. */
export function notShown(all: readonly Outgoing[], chatId: number, messages: Message[]): Outgoing[] {
  const taken = new Set<number>()
  return all.filter((one) => {
    if (one.chatId !== chatId) return false
    const record = messages.find(
      ({ id, direction, text }) =>
        direction === 'outbound' &&
        id > one.afterId &&
        !taken.has(id) &&
        (text === one.shownText || one.shownText === ''),
    )
    if (record !== undefined) taken.add(record.id)
    return record === undefined
  })
}

export function sendMessage(message: Pick<Outgoing, 'key' | 'chatId' | 'content' | 'shownText' | 'afterId'>): void {
  if (outgoing.some(({ key }) => key === message.key)) return
  const sending: Outgoing = { ...message, at: Date.now(), state: 'sending' }
  change([...outgoing, sending])
  void attempt(sending, FIRST_RETRY_MS)
}

/** Removes a message that failed or stayed unknown. */
export function discard(key: string): void {
  change(outgoing.filter((one) => one.key !== key))
}

/** Asks again for what the last page of this browser did not learn. */
export function resumeOutbox(): void {
  const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]')
  if (outgoing.length > 0 || !Array.isArray(stored)) return
  outgoing = stored
  for (const one of outgoing) if (one.state === 'sending' || one.state === 'checking') void attempt(one, FIRST_RETRY_MS)
  notify()
}

async function attempt(message: Outgoing, retryMs: number): Promise<void> {
  const { key, chatId, content } = message
  try {
    await api.sendMessage({ chatId }, content, { idempotencyKey: key })
    await finish(message)
  } catch (error) {
    const fault = error instanceof ApiError ? error : new ApiError('')
    if (fault.code === 'send_outcome_unknown') return finish(message)
    if (!isWorthAsking(fault)) return fail(message, fault)
    if (Date.now() - message.at > ASK_FOR_MS) return update(key, { state: 'unknown' })
    update(key, { state: fault.status === 429 ? 'sending' : 'checking' })
    const waitMs = fault.retryAfter ? fault.retryAfter * 1_000 : retryMs
    setTimeout(() => attempt(message, Math.min(retryMs * 2, MAX_RETRY_MS)), waitMs)
  }
}

/** No answer, an answer that says nothing about the message, or "still running": the same key asks again safely. */
const isWorthAsking = ({ status, code }: ApiError): boolean =>
  [0, 429, 502, 503, 504].includes(status) || code === 'idempotency_key_in_use'

/** The stored message is in the list before the outgoing one leaves it, so that nothing flickers. */
async function finish({ key, chatId }: Outgoing): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: messagesQuery(chatId).queryKey })
  discard(key)
}

async function fail(message: Outgoing, fault: ApiError): Promise<void> {
  update(message.key, { state: 'failed', fault: faultText(fault) })
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: messagesQuery(message.chatId).queryKey }),
    queryClient.invalidateQueries({ queryKey: conversationQuery(message.chatId).queryKey }),
  ])
}

const update = (key: string, changed: Partial<Outgoing>): void =>
  change(outgoing.map((one) => (one.key === key ? { ...one, ...changed } : one)))

function change(next: readonly Outgoing[]): void {
  outgoing = next
  if (next.length === 0) localStorage.removeItem(STORED)
  else localStorage.setItem(STORED, JSON.stringify(next))
  notify()
}

const notify = (): void => {
  for (const listener of listeners) listener()
}
