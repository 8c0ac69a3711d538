import type { Db } from '../db/connect.ts'
import { done, retryAfter } from '../jobs/job.ts'
import type { SingleKind } from '../jobs/job-kind.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { advanceErasure, type EraseDeps } from './erase-contact.ts'

const CONTACTS_ERASE = 'contacts.erase'
/** The request works on its erasure first. */
const AFTER_REQUEST_MS = 5_000
/** About two weeks of an unreachable blob store. */
const MAX_ATTEMPTS = 1_000
const CONTINUE_MS = 1_000

/** Enqueues the job of an erasure. It starts only when the request, which erases first, must have ended. */
export async function enqueueErasure(tx: Db, companyId: number, contactId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: CONTACTS_ERASE, lane, companyId, subjectId: contactId, dueInMs: AFTER_REQUEST_MS }
  await enqueueJobs(tx, [job])
}

/** The job that completes an erasure. One company's erasures run one after another. */
export const eraseKind = (deps: EraseDeps): SingleKind => ({
  kind: CONTACTS_ERASE,
  laneCap: 1,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  handle: async ({ companyId = 0, subjectId }, signal) => {
    const waitMs = await advanceErasure(deps, companyId, subjectId, signal)
    if (signal.aborted) return retryAfter(CONTINUE_MS, { counts: false })
    return waitMs === undefined ? done : retryAfter(waitMs, { counts: false })
  },
})
