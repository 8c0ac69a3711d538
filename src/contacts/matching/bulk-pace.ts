import type { Pool } from '../../db/connect.ts'
import { isAlone } from '../../db/pool/fair-pool.ts'
import { createFairPace, type FairPace, waitForTurn } from '../../fair/fair-pace.ts'
import { overloaded } from '../../platform/errors.ts'

/**
 * Rows per turn, statement and import transaction while several companies are active. With turns of 250, eight imports
 * raised the 99th percentile of others' requests to 30 ms instead of 16.
 */
export const ROWS_PER_TURN = 50
/** The same, for a company working alone. */
export const ROWS_ALONE = 250
/** Rows per second in a process, while several companies are active. */
export const ROWS_PER_SECOND = 1_500
export const ARRAYS_WAITING_MAX = 100
export const ARRAY_WAIT_MS = 20_000
const RETRY_AFTER_SECONDS = 5

const paces = new WeakMap<Pool, FairPace<number>>()

type Wait = {
  /** Without a signal, waits 20 s, then throws 503. */
  signal?: AbortSignal
}

/**
 * Waits for a turn at a pace shared by all companies' arrays and imports; a company working alone never waits. Throws
 * 503 with `Retry-After` after too long a wait or with too many waiting arrays.
 */
export async function waitForRows(pool: Pool, companyId: number, rows: number, { signal }: Wait = {}): Promise<void> {
  const until = signal ?? AbortSignal.timeout(ARRAY_WAIT_MS)
  const pace = paceOf(pool)
  if (signal === undefined && pace.waitingOf(companyId) >= ARRAYS_WAITING_MAX) throw overloaded(RETRY_AFTER_SECONDS)
  for (let left = rows; left > 0; left -= ROWS_PER_TURN) {
    if (isAlone(companyId)) return
    const isInTime = await waitForTurn(pace, { owner: companyId, cost: Math.min(left, ROWS_PER_TURN) }, until)
    signal?.throwIfAborted()
    if (!isInTime) throw overloaded(RETRY_AFTER_SECONDS)
  }
}

export const rowsAtOnce = (companyId: number): number => (isAlone(companyId) ? ROWS_ALONE : ROWS_PER_TURN)

function paceOf(pool: Pool): FairPace<number> {
  const pace = paces.get(pool) ?? createFairPace<number>({ perSecond: ROWS_PER_SECOND, burst: ROWS_PER_TURN })
  paces.set(pool, pace)
  return pace
}
