import type { Pool } from '../../db/connect.ts'
import { isAlone } from '../../db/pool/fair-pool.ts'
import { createFairPace, type FairPace, type Turn } from '../../fair/fair-pace.ts'
import { overloaded } from '../../platform/errors.ts'

/** Rows of one turn and of one transaction of an import: more would hold up other requests for longer. */
export const ROWS_PER_TURN = 250
/** Rows per second of all companies in a process, while more than one company works. */
export const ROWS_PER_SECOND = 1_500
/** Rows of one statement, while more than one company works. */
export const ROWS_PER_STATEMENT = 50
/** Arrays that wait: a company has at most so many, each so long. */
export const ARRAYS_WAITING_MAX = 100
export const ARRAY_WAIT_MS = 20_000
const RETRY_AFTER_SECONDS = 5

const paces = new WeakMap<Pool, FairPace<number>>()

type Wait = {
  /** Ends the wait with its reason. Absent: the wait ends after 20 s with 503. */
  signal?: AbortSignal
}

/**
 * Waits until a company's contact rows may be read and written, at a pace shared by all companies' arrays and imports:
 * an array of 1,000 contacts waits as long as 1,000 rows of an import. A company that works alone never waits.
 * @throws {AppError} 503 with `Retry-After` when the wait takes too long, or too many arrays of the company wait
 */
export async function waitForRows(pool: Pool, companyId: number, rows: number, { signal }: Wait = {}): Promise<void> {
  const until = signal ?? AbortSignal.timeout(ARRAY_WAIT_MS)
  const pace = paceOf(pool)
  if (signal === undefined && pace.waitingOf(companyId) >= ARRAYS_WAITING_MAX) throw overloaded(RETRY_AFTER_SECONDS)
  for (let left = rows; left > 0; left -= ROWS_PER_TURN) {
    if (isAlone(companyId)) return
    const isInTime = await takeTurn(pace, companyId, Math.min(left, ROWS_PER_TURN), until)
    signal?.throwIfAborted()
    if (!isInTime) throw overloaded(RETRY_AFTER_SECONDS)
  }
}

/** Returns the maximum number of contact rows in one statement of a company. */
export const rowsPerStatement = (companyId: number): number => (isAlone(companyId) ? ROWS_PER_TURN : ROWS_PER_STATEMENT)

/** Returns whether the turn came before the signal. */
function takeTurn(pace: FairPace<number>, owner: number, cost: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTurn: boolean) => {
      signal.removeEventListener('abort', giveUp)
      resolve(isTurn)
    }
    const turn: Turn<number> = { owner, cost, onTurn: () => end(true) }
    const giveUp = () => {
      pace.leave(turn)
      end(false)
    }
    if (signal.aborted) resolve(false)
    else if (pace.take(turn)) resolve(true)
    else signal.addEventListener('abort', giveUp)
  })
}

function paceOf(pool: Pool): FairPace<number> {
  const pace = paces.get(pool) ?? createFairPace<number>({ perSecond: ROWS_PER_SECOND, burst: ROWS_PER_TURN })
  paces.set(pool, pace)
  return pace
}
