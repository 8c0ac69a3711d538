import { done, retryAt } from '../jobs/job.ts'
import type { SingleKind } from '../jobs/job-kind.ts'
import { enqueueJobs } from '../jobs/job-store.ts'
import { type CopyDeps, copyMedia, type EnqueueCopies } from './copy-media.ts'

export const MEDIA_COPY = 'media.copy'

/** One lane per number: a provider that is slow for one number delays no other. */
export const enqueueCopies: EnqueueCopies = async (tx, places) => {
  await enqueueJobs(
    tx,
    places.map(({ companyId, senderId, messageId }) => ({
      kind: MEDIA_COPY,
      lane: `sender:${companyId}.${senderId}`,
      companyId,
      subjectId: messageId,
      once: true,
    })),
  )
}

/** The job that copies the media of a message. */
export const copyKind = (deps: CopyDeps): SingleKind => ({
  kind: MEDIA_COPY,
  laneCap: 4,
  companyCap: 8,
  concurrency: 16,
  handle: async ({ companyId = 0, subjectId }, signal) => {
    const outcome = await copyMedia(deps, companyId, subjectId, signal)
    return outcome.kind === 'retry' ? retryAt(outcome.at) : done
  },
})
