import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseDown } from './failure.ts'

/**
 * Makes a write that may be made again, until the database is back if it is away. Throws every other error, and that one
 * when `goOn`, asked with how many tries there were, says no.
 */
export async function retryUntilAvailable<T>(
  write: () => Promise<T>,
  { everyMs, goOn }: { everyMs: number; goOn(tries: number): boolean },
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write()
    } catch (error) {
      if (!isDatabaseDown(error) || !goOn(tries)) throw error
      await sleep(everyMs, undefined, { ref: false })
    }
  }
}
