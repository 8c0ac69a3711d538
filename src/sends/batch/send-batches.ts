import { setTimeout as pause } from 'node:timers/promises'
import { NO_EVENTS, type RecordEvents } from '../../changes/record-change.ts'
import { watchStatuses } from '../../conversations/recording/status-store.ts'
import type { Db, Pool, Transaction } from '../../db/connect.ts'
import { pinPlans } from '../../db/pin-plans.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { type Clock, monotonicMs } from '../../platform/clock.ts'
import { isOptOut } from '../../providers/refusal.ts'
import type { SendDeps } from '../send.ts'
import { type CompletedSend, completeSends, type Recipient } from './complete-store.ts'
import type { Send } from './decide-sends.ts'
import { type PreparedSend, prepareSends } from './prepare-sends.ts'
import { recordOptOuts } from './refused-opt-outs.ts'

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
/** For a row that another session holds. */
const LOCK_TIMEOUT_MS = 10_000
const COMPLETE_ATTEMPTS = 5
const COMPLETE_PAUSE_MS = 500

/** Consequences of completed sends for other rooms. */
export type SendConsequences = {
  /** Notes the media of these messages, to be copied from the provider. */
  copyMedia: (tx: Db, messages: readonly { companyId: number; messageId: number }[]) => Promise<void>
  /** Links the identities that the provider answered, after the outcomes are written. */
  learnRecipients: (recipients: readonly Recipient[]) => Promise<void>
  /** Events of new contacts, of statuses and of consents for receivers. */
  recordEvents?: RecordEvents
  /** Called after the commit with the contacts whose consent changed. */
  onConsents?: (contacts: readonly { companyId: number; id: number }[]) => void
}

/**
 * Both halves of many concurrent sends share statements. Completion is repeated while the database is away, since the
 * provider has already been called: it is idempotent.
 */
export function createSendBatches(
  db: Pool,
  clock: Clock,
  { copyMedia, learnRecipients, recordEvents = NO_EVENTS, onConsents = () => {} }: SendConsequences,
): Pick<SendDeps, 'prepareSend' | 'completeSend'> {
  const complete = async (sends: readonly CompletedSend[]): Promise<undefined[]> => {
    const withMedia = sends.filter(({ hasProviderMedia }) => hasProviderMedia)
    const companyIds = sends.map(({ companyId }) => companyId)
    const isReported = recordEvents.isSubscribed('whatsapp.message.status', companyIds)
    const optOuts = sends.filter(({ error }) => isOptOut(error))
    const hasFollowUp = withMedia.length > 0 || isReported || optOuts.length > 0
    const write = async (tx: Transaction) => {
      const [, , changesSince] = await Promise.all([
        pinPlans(tx, LOCK_TIMEOUT_MS),
        withMedia.length > 0 && copyMedia(tx, withMedia),
        watchStatuses(tx, isReported ? sends : []),
        completeSends(tx, sends, clock.now()),
        !hasFollowUp && tx.commit(),
      ])
      if (isReported) await recordEvents.publish(tx, await changesSince())
      if (optOuts.length === 0) return []
      const contacts = await recordOptOuts(tx, optOuts, clock.now())
      await recordEvents.publish(
        tx,
        contacts.map((contact) => ({ event: 'contact.changed', change: 'consent', ...contact })),
      )
      return contacts
    }
    // In one round trip, unless something follows. If it does not begin, the statements have run without it: they may be repeated.
    onConsents(await db.begin('isolation level read committed', write, { pipelined: !hasFollowUp }))
    await learnRecipients(sends.flatMap(({ recipient }) => (recipient === null ? [] : [recipient])))
    return sends.map(() => undefined)
  }
  const prepare = createStatementBatcher<Send, PreparedSend>({
    run: (sends) => prepareSends(db, sends, clock.now(), recordEvents),
    maxItems: MAX_ITEMS,
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ companyId }) => companyId,
  })
  return {
    prepareSend: (send) => untilFree(() => prepare(send)),
    completeSend: createStatementBatcher({
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
