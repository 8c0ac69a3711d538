import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseDown } from './failure.ts'

/**
 * Makes a write that may be made again, until the database is back if it is away. Throws every other error, and that one
 * when `shouldRetry`, called with the number of tries, returns false.
 */
export async function retryUntilAvailable<T>(
  write: () => Promise<T>,
  { everyMs, shouldRetry }: { everyMs: number; shouldRetry(tries: number): boolean },
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write()
    } catch (error) {
      if (!isDatabaseDown(error) || !shouldRetry(tries)) throw error
      await sleep(everyMs, undefined, { ref: false })
    }
  }
}
