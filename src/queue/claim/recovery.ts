import type { Db } from '../../db/connect.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { type JobKind, limitsOf, tableOf } from '../job-kind.ts'
import { recoverJobs } from '../job-store.ts'
import { withStatementTimeout } from '../statements/statement-timeout.ts'

const RECOVER_EVERY_MS = 1_000
/** Workers should first write known outcomes. */
const RECOVER_AFTER_OUTAGE_MS = 5_000

/**
 * Requeues jobs with expired leases, at most once a second for any number of loops. Throws what the database throws.
 */
export function createRecovery(db: Db, kinds: readonly JobKind[]): () => Promise<void> {
  const groups = [...Map.groupBy(kinds, tableOf)].flatMap(([table, ofTable]) =>
    [...Map.groupBy(ofTable, (kind) => limitsOf(kind).maxLeaseExpiries)].map(([maxLeaseExpiries, alike]) => ({
      table,
      maxLeaseExpiries,
      names: alike.map(({ kind }) => kind),
    })),
  )
  let nextAtMs = Number.NEGATIVE_INFINITY
  let isAway = false
  let running: Promise<void> | undefined
  const recover = async () => {
    const startedAtMs = monotonicMs()
    try {
      if (isAway) await withStatementTimeout(db`select 1`)
      else
        for (const one of groups)
          await withStatementTimeout(recoverJobs(db, one.names, one.maxLeaseExpiries, one.table))
      nextAtMs = startedAtMs + (isAway ? RECOVER_AFTER_OUTAGE_MS : RECOVER_EVERY_MS)
      isAway = false
    } catch (error) {
      isAway = true
      throw error
    }
  }
  return async () => {
    if (monotonicMs() < nextAtMs) return
    running ??= recover().finally(() => {
      running = undefined
    })
    await running
  }
}
