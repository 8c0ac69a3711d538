import type { Db } from '../../db/connect.ts'
import { done, retryAt, type SingleKind } from '../../queue/job.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { newStorageKey } from '../blobs/blob-store.ts'
import { insertMedia } from '../media-store.ts'
import { type CopyDeps, copyMedia } from './copy-media.ts'

export const MEDIA_COPY = 'media.copy'

/** Enqueues copy jobs for messages written earlier in this transaction. A slow number delays no other. */
export async function recordMedia(
  tx: Db,
  messages: readonly { companyId: number; messageId: number }[],
): Promise<void> {
  const media = messages.map((message) => ({ ...message, storageKey: newStorageKey(message.companyId) }))
  const noted = await insertMedia(tx, media)
  const jobs = noted.map(({ companyId, senderId, messageId }) => {
    const lane = `sender:${companyId}.${senderId}`
    return { kind: MEDIA_COPY, lane, companyId, subjectId: messageId, once: true }
  })
  if (jobs.length > 0) await enqueueJobs(tx, jobs)
}

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
