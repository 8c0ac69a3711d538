import { enqueueJobs } from '../jobs/job-store.ts'
import type { CopyDeps, EnqueueCopies } from '../media/copy-media.ts'
import { createMediaSigner, type MediaSigner } from '../media/media-signer.ts'
import type { Deps } from './deps.ts'

export const MEDIA_COPY = 'media.copy'

/** One lane per number: a provider that is slow for one holds up no other. */
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

export const createMediaDeps = (
  deps: Deps,
): CopyDeps & { db: Deps['db']; enqueue: EnqueueCopies; signer: MediaSigner } => ({
  ...deps,
  findSender: async (companyId, senderId) =>
    (await deps.senders.listFor(companyId)).find((sender) => sender.id === senderId),
  enqueue: enqueueCopies,
  signer: createMediaSigner({ ...deps.config, clock: deps.clock }),
})
