import { useCallback, useSyncExternalStore } from 'react'
import { SCOPE } from '../../scope.ts'

/** A text that is being written, with the key of its send: made when the text starts, so that a second press sends nothing. */
export type Draft = { text: string; key: string }

/** The id of the field in which an answer is written. */
export const ANSWER_FIELD = 'answer'

const PREFIX = `parley.draft.${SCOPE}.`
const listeners = new Set<() => void>()

/** The draft of a conversation; it survives a reload. */
export function useDraft(chatId: number): [Draft, (text: string) => void, () => void] {
  const stored = useSyncExternalStore(subscribe, () => localStorage.getItem(PREFIX + chatId))
  const write = useCallback((text: string) => setDraft(chatId, text), [chatId])
  const clear = useCallback(() => setDraft(chatId, ''), [chatId])
  return [read(stored), write, clear]
}

/** The text that is being written in a conversation, here or in another tab; empty without one. */
export const useDraftText = (chatId: number): string =>
  read(useSyncExternalStore(subscribe, () => localStorage.getItem(PREFIX + chatId))).text

/** Puts a text back that could not be sent, above what is being written; it gets a new key. The field takes the focus. */
export function restoreDraft(chatId: number, text: string): void {
  const { text: written } = read(localStorage.getItem(PREFIX + chatId))
  localStorage.removeItem(PREFIX + chatId)
  setDraft(chatId, written === '' ? text : `${text}\n${written}`)
  document.getElementById(ANSWER_FIELD)?.focus()
}

/** Forgets every text that was not sent, at the end of a session. */
export function forgetDrafts(): void {
  for (const name of Object.keys(localStorage))
    if (/^parley\.(draft|outbox)\./.test(name)) localStorage.removeItem(name)
}

export const newKey = (): string => crypto.randomUUID()

function setDraft(chatId: number, text: string): void {
  const { key } = read(localStorage.getItem(PREFIX + chatId))
  if (text === '') localStorage.removeItem(PREFIX + chatId)
  else localStorage.setItem(PREFIX + chatId, JSON.stringify({ text, key: key || newKey() }))
  for (const listener of listeners) listener()
}

function read(stored: string | null): Draft {
  return stored === null ? { text: '', key: '' } : JSON.parse(stored)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', listener)
  }
}
