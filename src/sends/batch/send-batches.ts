import { setTimeout as pause } from 'node:timers/promises'
import { NO_EVENTS, type RecordEvents } from '../../changes/record-change.ts'
import { recordPreferences } from '../../contacts/consent/contact-event-store.ts'
import { listRecipients } from '../../conversations/recording/recipient-store.ts'
import { watchStatuses } from '../../conversations/recording/status-store.ts'
import type { Db, Pool, Transaction } from '../../db/connect.ts'
import { pinPlans } from '../../db/pin-plans.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { type Clock, monotonicMs } from '../../platform/clock.ts'
import { isOptOut } from '../../providers/graph-answer.ts'
import type { SendDeps } from '../send.ts'
import { type CompletedSend, completeSends, type Recipient } from './complete-store.ts'
import type { Send } from './decide-sends.ts'
import { type PreparedSend, prepareSends } from './prepare-sends.ts'

const MAX_ITEMS = 200
/** At most ten batches; more sends are refused at once. */
const MAX_WAITING = 2_000
/** Must be less than callers wait; a refused send never started. */
const MAX_WAIT_MS = 2_000
/** Later sends share the next run, so cost falls under load. */
const MAX_RUNNING = 1
/** Total wait for the customer lock. */
const MAX_BUSY_MS = 2_500
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 200
/** For a row another session holds. */
const LOCK_TIMEOUT_MS = 10_000
const COMPLETE_ATTEMPTS = 5
const COMPLETE_PAUSE_MS = 500

export type SendConsequences = {
  copyMedia: (tx: Db, messages: readonly { companyId: number; messageId: number }[]) => Promise<void>
  /** Called after outcomes are written. */
  learnRecipients: (recipients: readonly Recipient[]) => Promise<void>
  recordEvents?: RecordEvents
  /** Called after the commit. */
  onConsents?: (contacts: readonly { companyId: number; id: number }[]) => void
}

/** Batches concurrent sends. Completion follows the provider call, so must repeat during outages; idempotent. */
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
    // One round trip, unless followed up. After a failed begin, statements run without transaction; safe to repeat.
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

/** Retries while another transaction holds the customer lock, without delaying the batch. */
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

async function recordOptOuts(
  tx: Db,
  refused: readonly { companyId: number; messageId: number }[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  const recipients = await listRecipients(
    tx,
    refused.map(({ companyId, messageId: id }) => ({ companyId, id })),
  )
  const byMessage = Map.groupBy(recipients, ({ companyId, messageId }) => `${companyId} ${messageId}`)
  const preferences = [...byMessage.values()].flatMap((own) => {
    const [first] = own
    if (first === undefined) return []
    const { companyId, messageId } = first
    const identities = own.map(({ identity }) => identity)
    return [{ companyId, identities, value: false, saidAt: at, eventId: `refused ${messageId}`, arrivedAt: at }]
  })
  return recordPreferences(tx, preferences)
}
