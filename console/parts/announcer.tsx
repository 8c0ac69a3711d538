import { useEffect, useState } from 'react'
import css from './announcer.module.css'

/** At most one announcement per second: a busy inbox must not talk all the time. */
const PAUSE_MS = 1_000

let show: ((words: string) => void) | undefined
let nextAt = 0

/** Tells screen readers what happened. Announcements that follow another too soon are dropped. */
export function announce(words: string): void {
  const now = performance.now()
  if (now < nextAt) return
  nextAt = now + PAUSE_MS
  show?.(words)
}

/** The one polite live region of the page. */
export function Announcer() {
  const [words, setWords] = useState('')
  useEffect(() => {
    show = setWords
    return () => {
      show = undefined
    }
  }, [])
  return (
    <div aria-live="polite" className={css.announcer}>
      {words}
    </div>
  )
}
