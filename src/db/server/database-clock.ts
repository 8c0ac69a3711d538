import { type Clock, monotonicMs } from '../../platform/clock.ts'
import type { Db } from '../connect.ts'

const SAMPLES = 3
const RESYNC_MS = 5_000

/**
 * A clock that follows the database's, so that the times which processes with different clocks write are in one order. The
 * difference is measured at the start and every 5 s, and is off by half a round trip at most; while the database is
 * away the last one counts. Rejects when the first measurement fails.
 */
export async function startDatabaseClock(db: Db, own: Clock): Promise<Clock & { stop(): Promise<void> }> {
  let aheadMs = await measure(db, own)
  const timer = setInterval(async () => {
    aheadMs = await measure(db, own).catch(() => aheadMs)
  }, RESYNC_MS).unref()
  return {
    now: () => new Date(own.now().getTime() + aheadMs),
    stop: async () => clearInterval(timer),
  }
}

/** How far the database's clock is ahead of ours, in milliseconds: of a few measurements the quickest. */
async function measure(db: Db, own: Clock): Promise<number> {
  let best = { roundTripMs: Number.POSITIVE_INFINITY, aheadMs: 0 }
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedAtMs = monotonicMs()
    const [row] = await db<[{ ms: number }]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`
    const roundTripMs = monotonicMs() - startedAtMs
    const aheadMs = Math.round(row.ms - (own.now().getTime() - roundTripMs / 2))
    if (roundTripMs < best.roundTripMs) best = { roundTripMs, aheadMs }
  }
  return best.aheadMs
}
