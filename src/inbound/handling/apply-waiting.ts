import type { LiveChange, Publish } from '../../changes/live-change.ts'
import type { RecordEvents } from '../../changes/record-change.ts'
import {
  applyWaitingChanges,
  lockDueChanges,
  lockDueStatuses,
  postponeChanges,
  type StatusRecord,
  settleWaitingStatuses,
  type WaitingChange,
} from '../../conversations/recording/waiting-store.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { isOwnWait, isTemporary } from '../../db/pool/failure.ts'
import type { Clock } from '../../platform/clock.ts'
import { recordInbound } from './batch/record-inbound.ts'
import { toContactChanges } from './batch/write-inbound.ts'
import { handleStatuses, readStatuses, type StatusDeps } from './handle-statuses.ts'

type ApplyDeps = StatusDeps & {
  db: Pool
  clock: Clock
  publish: Publish
  recordEvents: RecordEvents
  sourceType: string
}

const MOST_BATCHES = 40
const BATCH = 500

/** Applies statuses, edits and revokes once their message exists. @throws the last failure, after all rows */
export async function applyWaiting(deps: ApplyDeps, signal: AbortSignal): Promise<void> {
  const failures = [await applyDue(deps, signal, STATUSES), await applyDue(deps, signal, CHANGES)].flat()
  if (failures.length > 0) throw failures.at(-1)
}

type Waiting<Row> = {
  lockDue(tx: Db, limit: number): Promise<Row[]>
  apply(deps: ApplyDeps, tx: Db, rows: readonly Row[]): Promise<LiveChange[]>
  postpone(tx: Db, rows: readonly Row[]): Promise<void>
}

/** Applies due rows. Halves a failing batch until the failing row is alone, then postpones that row. */
async function applyDue<Row>(deps: ApplyDeps, signal: AbortSignal, waiting: Waiting<Row>): Promise<unknown[]> {
  const failures: unknown[] = []
  let size = BATCH
  for (let batch = 0; batch < MOST_BATCHES && !signal.aborted; batch += 1) {
    let rows: Row[] = []
    try {
      const changes = await deps.db.begin(async (tx) => {
        rows = await waiting.lockDue(tx, size)
        return rows.length === 0 ? [] : waiting.apply(deps, tx, rows)
      })
      deps.publish(changes)
      if (rows.length < size) break
      size = Math.min(size * 2, BATCH)
    } catch (error) {
      const failed = rows
      if (failed.length === 0 || (isTemporary(error) && !isOwnWait(error))) throw error
      size = Math.ceil(failed.length / 2)
      if (failed.length > 1) continue
      failures.push(error)
      await deps.db.begin((tx) => waiting.postpone(tx, failed))
    }
  }
  return failures
}

/** Must lock statuses, customers and messages in the usual handling order. */
const STATUSES: Waiting<StatusRecord> = {
  lockDue: lockDueStatuses,
  apply: async ({ clock, recordEvents, sourceType, ...deps }, tx, records) => {
    const statuses = await readStatuses(tx, records)
    const contacts = await recordInbound(tx, statuses.reports, { sourceType, at: clock.now() })
    const { recordChanges, liveChanges } = await handleStatuses(deps, tx, statuses, clock.now())
    await recordEvents.publish(tx, [...toContactChanges(contacts), ...recordChanges])
    return liveChanges
  },
  postpone: (tx, records) => settleWaitingStatuses(tx, records, () => false),
}

const CHANGES: Waiting<WaitingChange> = {
  lockDue: lockDueChanges,
  apply: async ({ clock }, tx, due) => {
    const changed = await applyWaitingChanges(tx, due, clock.now())
    return changed.flatMap(({ companyId, id, conversationId }): LiveChange[] => [
      { topic: 'message', companyId, id },
      { topic: 'conversation', companyId, id: conversationId },
    ])
  },
  postpone: (tx, due) => postponeChanges(tx, due),
}
