import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { isAlone } from './fair-pool.ts'

/** A pause is this many times as long as the statement before it. */
const PAUSES_TO_STATEMENT = 2
const LONGEST_PAUSE_MS = 200

/**
 * Runs the statements of a company's large write one after another, with pauses while other companies call. Not for transactions
 * that companies share: the pauses would hold their locks, too.
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
