import { useEffect, useRef } from 'react'

type Actions = Record<string, (event: KeyboardEvent) => void>

const STORED = 'parley.keys'
const SEQUENCE_MS = 1_200
const EDITABLE = 'input, textarea, select, [contenteditable="true"]'
/** Popups have keys of their own, until they start to close. */
const POPUP = ':is([role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]):not([data-closed])'

export const areKeysOn = (): boolean => localStorage.getItem(STORED) !== 'off'

export function setKeysOn(isOn: boolean): void {
  if (isOn) localStorage.removeItem(STORED)
  else localStorage.setItem(STORED, 'off')
}

/**
 * Shortcuts of a screen: `j`, or two keys such as `g i`. They rest while a field or popup has the focus, while a modifier
 * is held, and when the user turned them off.
 */
export function useKeys(actions: Actions): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    let before = ''
    let beforeAt = 0
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return
      const pair = event.timeStamp - beforeAt < SEQUENCE_MS ? `${before} ${event.key}` : ''
      const act = latest.current[pair] ?? (before === 'g' && pair !== '' ? undefined : latest.current[event.key])
      before = event.key
      beforeAt = event.timeStamp
      if (act === undefined) return
      event.preventDefault()
      before = ''
      act(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

function isShortcut({ target, ctrlKey, metaKey, altKey, defaultPrevented }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || defaultPrevented || !areKeysOn()) return false
  return !(target instanceof Element && target.closest(`${EDITABLE}, ${POPUP}`) !== null)
}
