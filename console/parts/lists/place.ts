import { type RefObject, useEffect, useRef } from 'react'
import { SCOPE } from '../../scope.ts'

const PREFIX = `parley.place.${SCOPE}.`
/** A user who scrolls has another place in mind. */
const HANDS = ['wheel', 'touchstart', 'pointerdown', 'keydown']

/**
 * Scrolls a list to where it was when it was left, also by a reload, as soon as its rows reach that far. Until then it
 * stands at its end, where a list that grows loads its next rows.
 */
export function usePlace(scroller: RefObject<HTMLElement | null>, name: string | undefined, height: number): void {
  const restored = useRef<number>(undefined)
  const reached = useRef(0)
  useEffect(() => {
    const element = scroller.current
    if (name === undefined || element === null) return
    const key = PREFIX + name
    restored.current = Number(sessionStorage.getItem(key)) || undefined
    const forget = () => {
      restored.current = undefined
    }
    // Kept while scrolling: an element that is removed or hidden has no place.
    const follow = () => {
      reached.current = element.scrollTop
    }
    const keep = () => sessionStorage.setItem(key, String(restored.current ?? reached.current))
    element.addEventListener('scroll', follow, { passive: true })
    for (const type of HANDS) element.addEventListener(type, forget, { passive: true })
    addEventListener('pagehide', keep)
    return () => {
      keep()
      element.removeEventListener('scroll', follow)
      for (const type of HANDS) element.removeEventListener(type, forget)
      removeEventListener('pagehide', keep)
    }
  }, [scroller, name])
  useEffect(() => {
    const element = scroller.current
    if (element === null || restored.current === undefined) return
    element.scrollTop = restored.current
    if (restored.current + element.clientHeight <= height) restored.current = undefined
  }, [scroller, height])
}
