import { useSyncExternalStore } from 'react'

/** How long "is answering" shows after the last event of it. */
const SHOWN_MS = 6_000

const names = new Map<number, { name: string; timer: ReturnType<typeof setTimeout> }>()
const listeners = new Set<() => void>()
const notify = () => {
  for (const listener of listeners) listener()
}

/** Shows that another agent types an answer in a conversation. */
export function showAnswering(chatId: number, name: string): void {
  clearTimeout(names.get(chatId)?.timer)
  const timer = setTimeout(() => {
    names.delete(chatId)
    notify()
  }, SHOWN_MS)
  names.set(chatId, { name, timer })
  notify()
}

/** The name of the person who is answering in a conversation now. */
export function useAnswering(chatId: number): string | undefined {
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return useSyncExternalStore(subscribe, () => names.get(chatId)?.name)
}
