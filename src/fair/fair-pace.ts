import { monotonicMs } from '../platform/clock.ts'
import { createFairQueue } from './fair-queue.ts'

const LONGEST_WAIT_MS = 1_000

type Rate = { readonly perSecond: number; readonly burst: number }

/** A piece of work that waits for its turn; `onTurn` is called when it may begin. */
export type Turn<Owner> = { readonly owner: Owner; readonly cost: number; readonly onTurn: () => void }

export type FairPace<Owner> = {
  /** The turns of an owner that wait. */
  waitingOf(owner: Owner): number
  /** Returns whether the work may begin now; otherwise it waits for its turn. */
  take(turn: Turn<Owner>): boolean
  /** Ends the wait of a turn. */
  leave(turn: Turn<Owner>): void
}

/**
 * Paces work of several owners to `perSecond` cost units together, owners round robin. A cost may not exceed `burst`.
 */
export function createFairPace<Owner>({ perSecond, burst }: Rate, nowMs = monotonicMs): FairPace<Owner> {
  const waiting = createFairQueue<Owner, Turn<Owner>>()
  let room = burst
  let filledAtMs = nowMs()
  let timer: NodeJS.Timeout | undefined

  const takeRoom = (cost: number): boolean => {
    const now = nowMs()
    room = Math.min(burst, room + ((now - filledAtMs) / 1_000) * perSecond)
    filledAtMs = now
    if (room < cost) return false
    room -= cost
    return true
  }
  const next = (): Turn<Owner> | undefined => {
    const [owner] = waiting.companies()
    return owner === undefined ? undefined : waiting.first(owner)
  }
  const giveTurns = (): void => {
    timer = undefined
    for (let turn = next(); turn !== undefined && takeRoom(turn.cost); turn = next()) {
      waiting.next()
      turn.onTurn()
    }
    schedule()
  }
  const schedule = (): void => {
    const turn = next()
    if (timer !== undefined || turn === undefined) return
    const waitMs = ((turn.cost - room) / perSecond) * 1_000
    timer = setTimeout(giveTurns, Math.min(waitMs, LONGEST_WAIT_MS)).unref()
  }
  return {
    waitingOf: waiting.sizeOf,
    take: (turn) => {
      if (waiting.size === 0 && takeRoom(turn.cost)) return true
      waiting.add(turn.owner, turn)
      schedule()
      return false
    },
    leave: (turn) => {
      waiting.remove((one) => one === turn)
    },
  }
}
