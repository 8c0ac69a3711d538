import type { Pool } from '../db/connect.ts'
import { mediaNotReady, notFound } from '../platform/errors.ts'
import { type CopyOnDemand, PAUSE_SECONDS, recordMedia } from './copy/copy-media.ts'
import { findMedia, type MediaRow } from './media-store.ts'

export type StoredMedia = MediaRow & { state: 'stored'; sizeBytes: number; sha256: string }

type GetMediaDeps = {
  db: Pool
  copyOnDemand: CopyOnDemand
}

/** Returns media, copied first if needed. @throws `not_found`, or `service_unavailable` if the copy must wait */
export async function getStoredMedia(deps: GetMediaDeps, companyId: number, messageId: number): Promise<StoredMedia> {
  const media = (await findMedia(deps.db, companyId, messageId)) ?? (await noteMedia(deps, companyId, messageId))
  if (media === undefined) throw nothingHere()
  if (media.state !== 'pending') return toStored(media)
  await deps.copyOnDemand(media)
  const copied = await findMedia(deps.db, companyId, messageId)
  if (copied?.state === 'pending') throw mediaNotReady(PAUSE_SECONDS)
  return toStored(copied)
}

/** Must be the same for every reason, so as not to reveal which files exist. */
export const nothingHere = () => notFound('There is no file at this address, or the address has run out')

/** Covers messages without a media record, such as those sent by provider id before records existed. */
async function noteMedia(deps: GetMediaDeps, companyId: number, messageId: number): Promise<MediaRow | undefined> {
  await deps.db.begin((tx) => recordMedia(tx, [{ companyId, messageId }]))
  return findMedia(deps.db, companyId, messageId)
}

function toStored(media: MediaRow | undefined): StoredMedia {
  if (media?.state !== 'stored' || media.sizeBytes === null || media.sha256 === null) throw nothingHere()
  return { ...media, state: media.state, sizeBytes: media.sizeBytes, sha256: media.sha256 }
}
