import { createBatcher } from '../batch.ts'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/connect.ts'
import { prepareSends, settleSends } from './message-store.ts'
import type { SendDeps } from './send.ts'

const MAX_ITEMS = 200
/** What comes meanwhile shares the next run: the more wait, the less each of them costs. */
const MAX_RUNNING = 1
const SETTLE_ATTEMPTS = 5
const SETTLE_PAUSE_MS = 500

/**
 * Both halves of many concurrent sends share statements. Settling is repeated while the database is away, since the
 * provider has already been called: it is idempotent.
 */
export function createSendBatches(db: Pool, clock: Clock): Pick<SendDeps, 'prepareSend' | 'settleSend'> {
  return {
    prepareSend: createBatcher({
      run: (sends) => prepareSends(db, sends, clock.now()),
      maxItems: MAX_ITEMS,
      maxRunning: MAX_RUNNING,
    }),
    settleSend: createBatcher({
      run: (sends) => repeatedly(() => settleSends(db, sends, clock.now())),
      maxItems: MAX_ITEMS,
      maxRunning: MAX_RUNNING,
    }),
  }
}

async function repeatedly<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempt === SETTLE_ATTEMPTS) throw error
      await new Promise((resume) => setTimeout(resume, SETTLE_PAUSE_MS))
    }
  }
}
