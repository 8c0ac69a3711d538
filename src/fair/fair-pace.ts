import { monotonicMs } from '../platform/clock.ts'
import { createFairLine } from './fair-line.ts'

const LONGEST_WAIT_MS = 1_000

type Rate = { readonly perSecond: number; readonly burst: number }

export type Turn<Owner> = { readonly owner: Owner; readonly cost: number; readonly onTurn: () => void }

export type FairPace<Owner> = {
  waitingOf(owner: Owner): number
  /** Returns whether the work can begin now; otherwise `onTurn` is called later. */
  take(turn: Turn<Owner>): boolean
  leave(turn: Turn<Owner>): void
}

/** Paces work to `perSecond` cost units in total, owners in rotation. A cost must not exceed `burst`. */
export function createFairPace<Owner>({ perSecond, burst }: Rate, nowMs = monotonicMs): FairPace<Owner> {
  const line = createFairLine<Owner, Turn<Owner>>()
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
  const giveTurns = (): void => {
    timer = undefined
    for (let turn = line.head(); turn !== undefined && takeRoom(turn.cost); turn = line.head()) {
      line.next()
      turn.onTurn()
    }
    schedule()
  }
  const schedule = (): void => {
    const turn = line.head()
    if (timer !== undefined || turn === undefined) return
    const waitMs = ((turn.cost - room) / perSecond) * 1_000
    timer = setTimeout(giveTurns, Math.min(waitMs, LONGEST_WAIT_MS)).unref()
  }
  return {
    waitingOf: line.sizeOf,
    take: (turn) => {
      if (line.size === 0 && takeRoom(turn.cost)) return true
      line.add(turn.owner, turn)
      schedule()
      return false
    },
    leave: (turn) => line.remove(turn.owner, turn),
  }
}

/** Returns whether the turn came before the signal. */
export function waitForTurn<Owner>(
  pace: FairPace<Owner>,
  work: Pick<Turn<Owner>, 'owner' | 'cost'>,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTurn: boolean) => {
      signal.removeEventListener('abort', giveUp)
      resolve(isTurn)
    }
    const turn: Turn<Owner> = { ...work, onTurn: () => end(true) }
    const giveUp = () => {
      pace.leave(turn)
      end(false)
    }
    if (signal.aborted) resolve(false)
    else if (pace.take(turn)) resolve(true)
    else signal.addEventListener('abort', giveUp)
  })
}
