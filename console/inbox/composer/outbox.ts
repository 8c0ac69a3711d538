import { useSyncExternalStore } from 'react'
import type { Message, MessageContent } from '../../../client/src/generated/schemas.ts'
import { ApiError, api } from '../../client.ts'
import { faultText } from '../../parts/feedback/failure-text.ts'
import { queryClient } from '../../queries.ts'
import { SCOPE } from '../../scope.ts'
import { conversationQuery } from '../conversation-queries.ts'
import { messagesQuery } from '../message-queries.ts'
import { newKey } from './draft.ts'
import { detach } from './files/attached.ts'
import { scheduledQuery } from './scheduled/scheduled-queries.ts'

/**
 * A message on its way to the service. Its key makes it safe to repeat: the service sends one message for one key, so a
 * lost answer is asked for again, also after a reload.
 */
export type Outgoing = {
  key: string
  chatId: number
  /** Null until its file is uploaded. */
  content: MessageContent | null
  /** The text of the bubble. */
  shownText: string
  /** The file that is uploaded first. */
  file?: OutgoingFile
  at: number
  /** The newest message when it was sent: its record comes after that. */
  afterId: number
  /** `checking`: the answer was lost, and the service is asked again. */
  state: 'uploading' | 'sending' | 'checking' | 'failed' | 'unknown'
  /** The part of the file that has gone out, from 0 to 1. */
  progress?: number
  fault?: string
  /** Whether a message that failed may be tried again as it is. */
  canRetry?: boolean
}
export type OutgoingFile = { name: string; sendAt?: string }

const STORED = `parley.outbox.${SCOPE}`
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 15_000
/** The service knows keys for 48 hours. An answer that is lost for longer than an hour stays unknown. */
const ASK_FOR_MS = 60 * 60 * 1_000

let outgoing: readonly Outgoing[] = []
const listeners = new Set<() => void>()

/** The messages of all conversations that the service has not confirmed. */
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
    const record = messages.find((message) => !taken.has(message.id) && isRecordOf(message, one))
    if (record !== undefined) taken.add(record.id)
    return record === undefined
  })
}

function isRecordOf({ id, direction, kind, text }: Message, { afterId, content, file, shownText }: Outgoing): boolean {
  if (direction !== 'outbound' || id <= afterId || content === null || content.sendAt !== undefined) return false
  if (file !== undefined && kind !== content.type) return false
  return shownText === '' || text === shownText
}

type New = Pick<Outgoing, 'key' | 'chatId' | 'shownText' | 'afterId'>

export function sendMessage(message: New & { content: MessageContent }): Promise<void> {
  if (isKnown(message.key)) return Promise.resolve()
  return deliver(add({ ...message, at: Date.now(), state: 'sending' }))
}

export const isKnown = (key: string): boolean => outgoing.some((one) => one.key === key)

export const findOutgoing = (key: string): Outgoing | undefined => outgoing.find((one) => one.key === key)

/** Shows a message that is on its way. */
export function add(message: Outgoing): Outgoing {
  change([...outgoing, message])
  return message
}

/** Removes a message that failed or stayed unknown, and its file. */
export function discard(key: string): void {
  change(outgoing.filter((one) => one.key !== key))
  detach(key)
}

/** Sends a message that was refused again, as another message. */
export function sendAgain(message: Outgoing): Promise<void> {
  const again: Outgoing = { ...message, key: newKey(), at: Date.now(), state: 'sending' }
  change(outgoing.map((one) => (one.key === message.key ? again : one)))
  // Its file is at the service.
  detach(message.key)
  return deliver(again)
}

/** Asks again for what the last page of this browser did not learn; `upload` goes on with files. */
export function resumeOutbox(upload: (message: Outgoing) => void): void {
  const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]')
  if (outgoing.length > 0 || !Array.isArray(stored)) return
  outgoing = stored
  for (const one of outgoing) {
    if (one.state === 'uploading') upload(one)
    else if (one.state === 'sending' || one.state === 'checking') void deliver(one)
  }
  notify()
}

/** Sends a message until the service has answered. */
export async function deliver(message: Outgoing): Promise<void> {
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
    const waitMs = await attempt(message, retryMs)
    if (waitMs === undefined) return
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** Returns how long to wait before the next attempt; undefined when there is none. */
async function attempt(message: Outgoing, retryMs: number): Promise<number | undefined> {
  const { key, chatId, content } = message
  if (content === null) return undefined
  try {
    await api.sendMessage({ chatId }, content, { idempotencyKey: key })
    await finish(message)
    return undefined
  } catch (error) {
    const fault = error instanceof ApiError ? error : new ApiError('')
    if (fault.code === 'send_outcome_unknown') await finish(message)
    else if (!isWorthAsking(fault)) await fail(message, fault)
    else if (Date.now() - message.at > ASK_FOR_MS) update(key, { state: 'unknown' })
    else {
      update(key, { state: fault.status === 429 ? 'sending' : 'checking' })
      return fault.retryAfter ? fault.retryAfter * 1_000 : retryMs
    }
    return undefined
  }
}

/** No answer, an answer that says nothing about the message, or "still running": the same key asks again safely. */
const isWorthAsking = ({ status, code }: ApiError): boolean =>
  [0, 429, 502, 503, 504].includes(status) || code === 'idempotency_key_in_use'

/** The stored message is in the list before the outgoing one leaves it, so that nothing flickers. */
async function finish({ key, chatId, content }: Outgoing): Promise<void> {
  const { queryKey } = content?.sendAt === undefined ? messagesQuery(chatId) : scheduledQuery(chatId)
  await queryClient.invalidateQueries({ queryKey })
  discard(key)
}

async function fail({ key, chatId, file }: Outgoing, fault: ApiError): Promise<void> {
  update(key, { state: 'failed', fault: faultText(fault), canRetry: file !== undefined })
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: messagesQuery(chatId).queryKey }),
    queryClient.invalidateQueries({ queryKey: conversationQuery(chatId).queryKey }),
  ])
}

export const update = (key: string, changed: Partial<Outgoing>): void =>
  change(outgoing.map((one) => (one.key === key ? { ...one, ...changed } : one)))

/** Shows how much of a file has gone out. A reload begins anew, so this is not stored. */
export function showProgress(key: string, progress: number): void {
  outgoing = outgoing.map((one) => (one.key === key ? { ...one, progress } : one))
  notify()
}

function change(next: readonly Outgoing[]): void {
  outgoing = next
  if (next.length === 0) localStorage.removeItem(STORED)
  else localStorage.setItem(STORED, JSON.stringify(next))
  notify()
}

const notify = (): void => {
  for (const listener of listeners) listener()
}
