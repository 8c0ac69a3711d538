import { type Clock, monotonicMs } from '../../platform/clock.ts'
import type { Db } from '../connect.ts'

const SAMPLES = 3
const RESYNC_MS = 5_000

/**
 * Starts a clock that follows the database's, so that all processes write ordered times. Off by at most half a round
 * trip, measured every 5 s; keeps the last value while the database is away. Rejects when the first measurement fails.
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

/** Returns milliseconds, from the fastest round trip. */
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
