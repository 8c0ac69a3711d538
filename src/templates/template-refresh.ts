import type { Logger } from 'pino'
import type { Db } from '../db/connect.ts'
import { done, retryAfter, type SingleKind } from '../queue/job.ts'
import { enqueueJobs } from '../queue/job-store.ts'

const TEMPLATES_REFRESH = 'templates.refresh'

const HOUR_MS = 60 * 60 * 1000

type RefreshDeps = {
  log: Logger
  senders: { listFor(companyId: number): Promise<readonly unknown[]> }
  readAccounts(companyId: number): Promise<number>
}

/** Starts the hourly refresh of a company: one job that reschedules itself. */
export async function enqueueRefresh(tx: Db, companyId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: TEMPLATES_REFRESH, lane, companyId, subjectId: companyId, once: true, dueInMs: HOUR_MS }
  await enqueueJobs(tx, [job])
}

/** Ends when the company has no number left. */
export const refreshKind = (deps: RefreshDeps): SingleKind => ({
  kind: TEMPLATES_REFRESH,
  laneCap: 1,
  concurrency: 4,
  handle: async ({ subjectId: companyId }) => {
    const senders = await deps.senders.listFor(companyId)
    if (senders.length === 0) return done
    await deps
      .readAccounts(companyId)
      .catch((error) => deps.log.warn({ companyId, reason: String(error) }, 'templates.not_synced'))
    return retryAfter(HOUR_MS, { counts: false })
  },
})
