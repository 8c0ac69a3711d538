import { enqueueJobs } from '../jobs/job-store.ts'
import type { CopyDeps, EnqueueCopies } from '../media/copy-media.ts'
import type { MediaRoutesDeps } from '../media/media-routes.ts'
import { createMediaSigner, type MediaSigner } from '../media/media-signer.ts'
import { findMediaSecret } from '../moves/move-store.ts'
import type { Deps } from './deps.ts'

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

/** The dependencies of media: copying from the provider, signed addresses, and the routes that serve them. */
export const createMediaDeps = (
  deps: Deps,
): CopyDeps &
  Pick<MediaRoutesDeps, 'movedSecret'> & { db: Deps['db']; enqueue: EnqueueCopies; signer: MediaSigner } => ({
  ...deps,
  findSender: async (companyId, senderId) =>
    (await deps.senders.listFor(companyId)).find((sender) => sender.id === senderId),
  enqueue: enqueueCopies,
  movedSecret: async (companyId) => {
    const sealed = await findMediaSecret(deps.pool, companyId)
    return sealed === undefined ? undefined : Buffer.from(deps.cipher.decrypt(sealed), 'base64')
  },
  signer: createMediaSigner({ ...deps.config, clock: deps.clock }),
})
