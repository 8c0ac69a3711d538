import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { isAlone } from './fair-pool.ts'

const PAUSES_TO_STATEMENT = 2
const LONGEST_PAUSE_MS = 200

/**
 * Runs a large write, pausing while other companies call. Must not share a transaction: pauses would hold its locks.
 */
export async function runWithPauses(companyId: number, statements: readonly (() => Promise<unknown>)[]): Promise<void> {
  let pauseMs = 0
  for (const run of statements) {
    if (pauseMs > 0 && !isAlone(companyId)) await sleep(pauseMs)
    const startedAtMs = monotonicMs()
    await run()
    pauseMs = Math.min(PAUSES_TO_STATEMENT * (monotonicMs() - startedAtMs), LONGEST_PAUSE_MS)
  }
}
