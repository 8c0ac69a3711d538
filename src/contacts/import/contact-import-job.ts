import type { Db } from '../../db/connect.ts'
import { isContention, isDatabaseDown } from '../../db/pool/failure.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { done, isCausedByJob, retryAfter, type SingleKind } from '../../queue/job.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { abandonImport, type ImportRunDeps, runImport } from './contact-import-run.ts'

const CONTACTS_IMPORT = 'contacts.import'
const MAX_ATTEMPTS = 10
const RETRY_MS = 1_000
/** Long imports yield to other companies after this time. */
const SLICE_MS = 10_000

export type ImportJobDeps = ImportRunDeps & {
  /** Called after each slice: `paused` if more rows follow, `gone` if the import had already ended. */
  onSlice(companyId: number, id: number, outcome: 'completed' | 'failed' | 'paused' | 'gone'): void
}

/** Enqueues an import job, in one lane per company so that imports run in order. */
export async function enqueueImport(tx: Db, companyId: number, importId: number): Promise<void> {
  const job = { kind: CONTACTS_IMPORT, lane: `company:${companyId}`, companyId, subjectId: importId, once: true }
  await enqueueJobs(tx, [job])
}

/** Runs imports. Ten failures caused by the list fail the import; other errors only delay it. */
export const importKind = (deps: ImportJobDeps): SingleKind => ({
  kind: CONTACTS_IMPORT,
  laneCap: 1,
  ordered: true,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  handle: async ({ companyId = 0, subjectId, attempts }, signal) => {
    const endsAtMs = monotonicMs() + SLICE_MS
    try {
      const pause = () => monotonicMs() > endsAtMs
      const outcome = await runImport(deps, companyId, subjectId, { signal, pause })
      deps.onSlice(companyId, subjectId, outcome)
      return outcome !== 'paused' ? done : retryAfter(0, { counts: false })
    } catch (error) {
      if (signal.aborted) throw error
      if (isContention(error) || isDatabaseDown(error) || error instanceof StorageFailure)
        return retryAfter(RETRY_MS, { counts: false })
      if (!isCausedByJob(error) || attempts + 1 < MAX_ATTEMPTS) throw error
      await abandonImport(deps, companyId, subjectId, error instanceof Error ? error.message : String(error))
      deps.onSlice(companyId, subjectId, 'failed')
      return done
    }
  },
})
