import type { CopyDeps } from '../media/copy/copy-media.ts'
import type { MediaRoutesDeps } from '../media/media-routes.ts'
import { createMediaSigner, type MediaSigner } from '../media/signed-address.ts'
import { findMediaSecret } from '../moves/move-store.ts'
import type { Deps } from './deps.ts'

export const createMediaDeps = (
  deps: Deps,
): CopyDeps & Pick<MediaRoutesDeps, 'movedSecret'> & { db: Deps['db']; signer: MediaSigner } => ({
  ...deps,
  findSender: async (companyId, senderId) =>
    (await deps.senders.listFor(companyId)).find((sender) => sender.id === senderId),
  movedSecret: async (companyId) => {
    const sealed = await findMediaSecret(deps.pool, companyId)
    return sealed === undefined ? undefined : Buffer.from(deps.cipher.decrypt(sealed), 'base64')
  },
  signer: createMediaSigner({ ...deps.config, clock: deps.clock }),
})
