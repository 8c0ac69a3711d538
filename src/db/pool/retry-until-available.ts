import { setTimeout as sleep } from 'node:timers/promises'
import { areValuesRefused } from './failure.ts'

/**
 * Repeats an idempotent write until the database accepts it. Throws when the database refuses the values, or
 * `shouldRetry`, called with the number of tries, returns false.
 */
export async function retryUntilAvailable<T>(
  write: () => Promise<T>,
  { everyMs, shouldRetry }: { everyMs: number; shouldRetry(tries: number): boolean },
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write()
    } catch (error) {
      if (areValuesRefused(error) || !shouldRetry(tries)) throw error
      await sleep(everyMs, undefined, { ref: false })
    }
  }
}
