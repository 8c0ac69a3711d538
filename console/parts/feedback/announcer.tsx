import { useEffect, useState } from 'react'
import css from './announcer.module.css'

/** At most one announcement per second: a busy inbox must not talk all the time. */
const PAUSE_MS = 1_000

let show: ((message: string) => void) | undefined
let nextAt = 0

/** Announces to screen readers what happened. Announcements that follow another too soon are dropped. */
export function announce(message: string): void {
  const now = performance.now()
  if (now < nextAt) return
  nextAt = now + PAUSE_MS
  show?.(message)
}

/** The one polite live region of the page. */
export function Announcer() {
  const [message, setMessage] = useState('')
  useEffect(() => {
    show = setMessage
    return () => {
      show = undefined
    }
  }, [])
  return (
    <div aria-live="polite" className={css.announcer}>
      {message}
    </div>
  )
}
