import { setTimeout as pause } from 'node:timers/promises'
import { createBatcher } from '../batching/batch.ts'
import { type Clock, monotonicMs } from '../clock.ts'
import type { Db, Pool } from '../db/connect.ts'
import {
  type CompletedSend,
  completeSends,
  type PreparedSend,
  prepareSends,
  type SendToPrepare,
} from './message-store.ts'
import type { SendDeps } from './send.ts'

const MAX_ITEMS = 200
/** Sends that wait to be decided; more are refused at once. Ten batches at most. */
const MAX_WAITING = 2_000
/** Less than a caller waits: a send that was refused was not started. */
const MAX_WAIT_MS = 2_000
/** Sends that come meanwhile share the next run: the more wait, the less each one costs. */
const MAX_RUNNING = 1
/** How long a send waits for the lock of its customer, and the waits between its attempts. */
const MAX_BUSY_MS = 2_500
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 200
const COMPLETE_ATTEMPTS = 5
const COMPLETE_PAUSE_MS = 500

/** Notes the media of these messages, to be copied from the provider. */
export type CopyMedia = (tx: Db, messages: readonly { companyId: number; messageId: number }[]) => Promise<void>

/**
 * Both halves of many concurrent sends share statements. Completion is repeated while the database is away, since the
 * provider has already been called: it is idempotent.
 */
export function createSendBatches(
  db: Pool,
  clock: Clock,
  copyMedia: CopyMedia,
): Pick<SendDeps, 'prepareSend' | 'completeSend'> {
  const complete = (sends: readonly CompletedSend[]): Promise<undefined[]> => {
    const withMedia = sends.filter(({ hasProviderMedia }) => hasProviderMedia)
    if (withMedia.length === 0) return completeSends(db, sends, clock.now())
    return db.begin(async (tx) => {
      await copyMedia(tx, withMedia)
      return completeSends(tx, sends, clock.now())
    })
  }
  const prepare = createBatcher<SendToPrepare, PreparedSend>({
    run: (sends) => prepareSends(db, sends, clock.now()),
    maxItems: MAX_ITEMS,
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ companyId }) => companyId,
  })
  return {
    prepareSend: (send) => untilFree(() => prepare(send)),
    completeSend: createBatcher({
      run: (sends) => repeatedly(() => complete(sends)),
      maxItems: MAX_ITEMS,
      maxRunning: MAX_RUNNING,
      companyOf: ({ companyId }) => companyId,
    }),
  }
}

/** Repeats a send whose customer another transaction has locked: the other sends of its batch do not wait for it. */
async function untilFree(prepare: () => Promise<PreparedSend>): Promise<PreparedSend> {
  const endsAtMs = monotonicMs() + MAX_BUSY_MS
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const prepared = await prepare()
    if (prepared.refusal !== 'busy' || monotonicMs() + pauseMs > endsAtMs) return prepared
    await pause(pauseMs)
  }
}

async function repeatedly<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempt === COMPLETE_ATTEMPTS) throw error
      await pause(COMPLETE_PAUSE_MS)
    }
  }
}
