import { monotonicMs } from '../clock.ts'
import { type EnqueueImport, getImport, type ImportDeps, receiveImport } from '../contacts/import/contact-import.ts'
import { abandonImport, type ImportRunDeps, runImport } from '../contacts/import/contact-import-run.ts'
import { isContention, isDatabaseDown } from '../db/pool/failure.ts'
import { done, retryAfter } from '../jobs/job.ts'
import type { SingleKind } from '../jobs/job-kind.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { createWorker } from '../jobs/worker.ts'
import type { ImportVerbs } from '../operator/operator.ts'
import type { Deps } from './deps.ts'

const CONTACTS_IMPORT = 'contacts.import'
const MAX_ATTEMPTS = 10
const RETRY_MS = 1_000
/** A long import yields to those of other companies after this time. */
const SLICE_MS = 10_000

/** One lane per company: its imports are applied one after another. */
const enqueueImport: EnqueueImport = async (tx, companyId, importId) => {
  const job = { kind: CONTACTS_IMPORT, lane: `company:${companyId}`, companyId, subjectId: importId, once: true }
  await enqueueJobs(tx, [job])
}

/** The dependencies of the import's routes. */
export const createImportDeps = (deps: Pick<Deps, 'db' | 'blobStore'>): ImportDeps => ({
  db: deps.db,
  blobStore: deps.blobStore,
  enqueue: enqueueImport,
})

/** The job that runs imports. An import that fails ten times is marked as failed, with the reason. */
export function importKind(
  allDeps: Pick<Deps, 'db' | 'blobStore' | 'config' | 'metrics' | 'publish' | 'recordEvents'>,
): SingleKind {
  const onProgress = (companyId: number, id: number) => allDeps.publish([{ topic: 'import', companyId, id }])
  /** A reset stands for all contacts of the slice. */
  const onEnd = (companyId: number, id: number) =>
    allDeps.publish([
      { topic: 'import', companyId, id },
      { topic: 'all', companyId },
    ])
  const deps: ImportRunDeps = { ...allDeps, onProgress, sourceType: allDeps.config.serviceName.toLowerCase() }
  return {
    kind: CONTACTS_IMPORT,
    laneCap: 1,
    ordered: true,
    concurrency: 2,
    maxAttempts: MAX_ATTEMPTS,
    handle: async ({ companyId = 0, subjectId, attempts }, signal) => {
      const endsAtMs = monotonicMs() + SLICE_MS
      try {
        const pause = () => monotonicMs() > endsAtMs
        const end = await runImport(deps, companyId, subjectId, { signal, pause })
        onEnd(companyId, subjectId)
        if (end === 'completed') allDeps.metrics.imports.inc({ outcome: end })
        return end !== 'paused' ? done : retryAfter(0, { counts: false })
      } catch (error) {
        if (signal.aborted) throw error
        // Errors that pass by themselves never fail an import.
        if (isContention(error) || isDatabaseDown(error)) return retryAfter(RETRY_MS, { counts: false })
        if (attempts + 1 < MAX_ATTEMPTS) throw error
        await abandonImport(deps, companyId, subjectId, error instanceof Error ? error.message : String(error))
        onEnd(companyId, subjectId)
        allDeps.metrics.imports.inc({ outcome: 'failed' })
        return done
      }
    },
  }
}

/** Imports on the command line: worked off by the command itself, beside a service that may be running. */
export const createImportVerbs = (
  deps: Pick<Deps, 'db' | 'workerDb' | 'blobStore' | 'config' | 'log' | 'metrics' | 'publish' | 'recordEvents'>,
): ImportVerbs => ({
  take: (companyId, format, body) => receiveImport(createImportDeps(deps), companyId, format, body, null),
  read: (companyId, id) => getImport(deps.db, companyId, id),
  work: () => createWorker({ db: deps.workerDb, log: deps.log }, [importKind(deps)]),
})
