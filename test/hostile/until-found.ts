import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/connect.ts'

/** Ends a wait that hangs, on a machine of any speed. */
export const HANG_MS = 120_000
const PAUSE_MS = 50

/** Asks until there is an answer, and returns it; undefined when there is none. */
export async function untilFound<T>(find: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const startedAt = performance.now(); performance.now() - startedAt < HANG_MS; await sleep(PAUSE_MS)) {
    const found = await find()
    if (found !== undefined) return found
  }
  return undefined
}

/** Asks until there are no rows, so that an attack has ended with all that it caused. */
export const untilNone = (find: () => Promise<readonly unknown[]>) =>
  untilFound(async () => (await find()).length === 0 || undefined)

/** Until no event of the provider waits. */
export const untilHandled = (db: Pool) => untilNone(() => db`select from inbound_events limit 1`)
