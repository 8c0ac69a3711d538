import { getImport, receiveImport } from '../contacts/import/contact-import.ts'
import { type ImportJobDeps, importKind } from '../contacts/import/contact-import-run.ts'
import { emailLane } from '../emails/delivery/email-delivery.ts'
import { EMAIL_SEND } from '../emails/email-store.ts'
import type { ImportVerbs } from '../operator/operator.ts'
import type { EraseDeps } from '../personal-data/erase-contact.ts'
import { hastenJobs } from '../queue/job-store.ts'
import { createWorker } from '../queue/worker.ts'
import type { Deps } from './deps.ts'

export const createImportJobDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'config' | 'metrics' | 'publish' | 'recordEvents'>,
): ImportJobDeps => ({
  ...deps,
  sourceType: deps.config.serviceName.toLowerCase(),
  onProgress: (companyId, id) => deps.publish([{ topic: 'import', companyId, id }]),
  onSlice: (companyId, id, outcome) => {
    // One reset covers all contacts in the slice.
    deps.publish([
      { topic: 'import', companyId, id },
      { topic: 'all', companyId },
    ])
    if (outcome === 'completed' || outcome === 'failed') deps.metrics.imports.inc({ outcome })
  },
})

/** Builds dependencies for a command that runs imports itself, possibly beside a running service. */
export const createImportVerbs = (
  deps: Pick<Deps, 'db' | 'workerDb' | 'blobStore' | 'config' | 'log' | 'metrics' | 'publish' | 'recordEvents'>,
): ImportVerbs => ({
  take: (companyId, request, body) => receiveImport(deps, companyId, request, body, null),
  read: (companyId, id) => getImport(deps.db, companyId, id),
  work: () => createWorker({ db: deps.workerDb, log: deps.log }, [importKind(createImportJobDeps(deps))]),
})

export const createErasureDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'cipher' | 'log' | 'publish' | 'recordEvents'>,
): EraseDeps => ({
  ...deps,
  endEmailJobs: (companyId, emailIds) => hastenJobs(deps.db, companyId, EMAIL_SEND, emailLane(companyId), emailIds),
  onPass: (companyId) => deps.publish([{ topic: 'all', companyId }]),
  onFailure: (error) => deps.log.error({ reason: String(error) }, 'erasure.interrupted'),
})
