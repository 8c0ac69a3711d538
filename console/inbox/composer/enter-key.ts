import { type KeyboardEvent, useSyncExternalStore } from 'react'

/** What Enter does while an answer is written. */
export type EnterKey = 'send' | 'break'

const KEY = 'parley.enter'
const listeners = new Set<() => void>()

const readEnterKey = (): EnterKey => (localStorage.getItem(KEY) === 'break' ? 'break' : 'send')

/** The choice of the user; Enter sends until another is made. */
export const useEnterKey = (): EnterKey => useSyncExternalStore(subscribe, readEnterKey)

export function chooseEnterKey(choice: EnterKey): void {
  localStorage.setItem(KEY, choice)
  for (const listener of listeners) listener()
}

/** The keyboard of a touch screen has no Shift Enter: there Enter breaks the line. */
export const isTouch = (): boolean => matchMedia('(pointer: coarse)').matches

/** Whether a key press sends. Ctrl Enter does so always. */
export function isSendKey({ key, ctrlKey, metaKey, shiftKey, altKey, nativeEvent }: KeyboardEvent): boolean {
  if (key !== 'Enter' || nativeEvent.isComposing) return false
  return ctrlKey || metaKey || !(shiftKey || altKey || isTouch() || readEnterKey() === 'break')
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
