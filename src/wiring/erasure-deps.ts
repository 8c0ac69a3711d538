import { EMAIL_SEND, emailLane } from '../emails/delivery/email-delivery.ts'
import { hastenJobs } from '../jobs/job-store.ts'
import type { EraseDeps } from '../personal-data/erase-contact.ts'
import { enqueueErasure } from '../personal-data/erase-job.ts'
import type { Deps } from './deps.ts'

/** The dependencies of an erasure. */
export const createErasureDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'cipher' | 'log' | 'publish' | 'recordEvents'>,
): EraseDeps => ({
  db: deps.db,
  blobStore: deps.blobStore,
  cipher: deps.cipher,
  recordEvents: deps.recordEvents,
  enqueue: enqueueErasure,
  endEmailJobs: (companyId, emailIds) => hastenJobs(deps.db, companyId, EMAIL_SEND, emailLane(companyId), emailIds),
  onPass: (companyId) => deps.publish([{ topic: 'all', companyId }]),
  onFailure: (error) => deps.log.error({ reason: String(error) }, 'erasure.interrupted'),
})
