import { EMAIL_SEND, emailLane } from '../emails/delivery/email-delivery.ts'
import { done, retryAfter } from '../jobs/job.ts'
import type { SingleKind } from '../jobs/job-kind.ts'
import { enqueueJobs, hastenJobs } from '../jobs/job-store.ts'
import { advanceErasure, type EraseDeps } from '../personal-data/erase-contact.ts'
import type { Deps } from './deps.ts'

const CONTACTS_ERASE = 'contacts.erase'
/** The request works on its erasure first. */
const AFTER_REQUEST_MS = 5_000
/** About two weeks of an unreachable blob store. */
const MAX_ATTEMPTS = 1_000
const CONTINUE_MS = 1_000

/** The dependencies of an erasure. Its job starts only when the request, which erases first, must have ended. */
export const createErasureDeps = (
  deps: Pick<Deps, 'db' | 'blobStore' | 'cipher' | 'log' | 'publish' | 'recordEvents'>,
): EraseDeps => ({
  db: deps.db,
  blobStore: deps.blobStore,
  cipher: deps.cipher,
  recordEvents: deps.recordEvents,
  enqueue: async (tx, companyId, contactId) => {
    const lane = `company:${companyId}`
    const job = { kind: CONTACTS_ERASE, lane, companyId, subjectId: contactId, dueInMs: AFTER_REQUEST_MS }
    await enqueueJobs(tx, [job])
  },
  endEmailJobs: (companyId, emailIds) => hastenJobs(deps.db, companyId, EMAIL_SEND, emailLane(companyId), emailIds),
  onPass: (companyId) => deps.publish([{ topic: 'all', companyId }]),
  onFailure: (error) => deps.log.error({ reason: String(error) }, 'erasure.interrupted'),
})

/** The job that completes an erasure. One company's erasures run one after another. */
export function eraseKind(deps: Deps): SingleKind {
  const erasing = createErasureDeps(deps)
  return {
    kind: CONTACTS_ERASE,
    laneCap: 1,
    concurrency: 2,
    maxAttempts: MAX_ATTEMPTS,
    handle: async ({ companyId = 0, subjectId }, signal) => {
      const waitMs = await advanceErasure(erasing, companyId, subjectId, signal)
      if (signal.aborted) return retryAfter(CONTINUE_MS, { counts: false })
      return waitMs === undefined ? done : retryAfter(waitMs, { counts: false })
    },
  }
}
