import type { Clock } from '../../clock.ts'
import { applyWaitingChanges } from '../../conversations/recording/message-change-store.ts'
import { lockDueStatuses, WAITING_BATCH } from '../../conversations/recording/waiting-status-store.ts'
import type { Pool } from '../../db/connect.ts'
import type { Publish } from '../../live-change.ts'
import type { RecordEvents } from '../../record-change.ts'
import { handleStatuses, type StatusDeps } from './handle-statuses.ts'
import { readRecipients } from './recording/learn-recipients.ts'
import { recordInbound } from './recording/record-inbound.ts'
import { toContactChanges } from './recording/write-inbound.ts'

export type ApplyDeps = StatusDeps & {
  db: Pool
  clock: Clock
  publish: Publish
  recordEvents: RecordEvents
  sourceType: string
}

/** Transactions of one run. */
const MOST_BATCHES = 20

/** Looks for the messages of the statuses, edits and revokes that came before them, and applies those whose message exists. */
export async function applyWaiting(deps: ApplyDeps, signal: AbortSignal): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES && !signal.aborted; batch += 1) {
    if ((await applyStatuses(deps)) < WAITING_BATCH) break
  }
  const changed = await deps.db.begin((tx) => applyWaitingChanges(tx, deps.clock.now()))
  deps.publish(
    changed.flatMap(({ companyId, id, conversationId }) => [
      { topic: 'message', companyId, id },
      { topic: 'conversation', companyId, id: conversationId },
    ]),
  )
}

/** Returns how many statuses were due. Locks statuses, customers and messages, in the order of all handling. */
async function applyStatuses({ publish, ...deps }: ApplyDeps): Promise<number> {
  const { db, clock, recordEvents, sourceType } = deps
  const { due, liveChanges } = await db.begin(async (tx) => {
    const records = await lockDueStatuses(tx)
    const { reports, unlearnt } = await readRecipients(tx, records)
    const contacts = await recordInbound(tx, reports, { sourceType, at: clock.now() })
    const statuses = await handleStatuses(deps, tx, records, clock.now(), unlearnt)
    await recordEvents.publish(tx, [...toContactChanges(contacts), ...statuses.recordChanges])
    return { due: records.length, liveChanges: statuses.liveChanges }
  })
  publish(liveChanges)
  return due
}
