import { useEffect, useReducer } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'

/** Whether free text may be sent. `ignored`: this service leaves the window to the provider. */
export type WindowState =
  | { state: 'ignored' }
  | { state: 'open'; leftMs: number; isShort: boolean }
  | { state: 'closed'; isNever: boolean }

const HOUR_MS = 60 * 60 * 1_000
const LOOK_EVERY_MS = 15_000

/** The window of a conversation now; it closes on time without an event of the service. */
export function useWindow({ window }: Conversation, rule: 'strict' | 'provider'): WindowState {
  const [look, lookAgain] = useReducer((count: number) => count + 1, 0)
  const leftMs = window.closesAt === null ? 0 : Date.parse(window.closesAt) - Date.now()
  const waitMs = leftMs > 0 ? Math.min(leftMs + 1, LOOK_EVERY_MS) : undefined
  useEffect(() => {
    if (waitMs === undefined) return
    const timer = setTimeout(lookAgain, waitMs, look)
    return () => clearTimeout(timer)
  }, [waitMs, look])
  if (rule === 'provider') return { state: 'ignored' }
  if (leftMs <= 0) return { state: 'closed', isNever: window.closesAt === null }
  return { state: 'open', leftMs, isShort: leftMs < HOUR_MS }
}
