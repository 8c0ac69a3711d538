import type { Db } from '../db/connect.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { syncTemplates } from '../templates/template-sync.ts'
import type { Deps } from './deps.ts'

export const TEMPLATES_REFRESH = 'templates.refresh'

const HOUR_MS = 60 * 60 * 1000

/** From its first number on, a company's templates are read again every hour: one job that reschedules itself. */
export async function enqueueRefresh(tx: Db, companyId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: TEMPLATES_REFRESH, lane, companyId, subjectId: companyId, once: true, dueInMs: HOUR_MS }
  await enqueueJobs(tx, [job])
}

/** Refreshes; answers after how many milliseconds to do so again, undefined when the company has no number any more. */
export async function refreshTemplates(deps: Deps, companyId: number): Promise<number | undefined> {
  const senders = await deps.senders.listFor(companyId)
  if (senders.length === 0) return undefined
  await syncTemplates(deps, companyId).catch((error) =>
    deps.log.warn({ companyId, reason: String(error) }, 'templates.not_synced'),
  )
  return HOUR_MS
}
