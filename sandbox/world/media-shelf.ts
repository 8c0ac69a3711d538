import { Ring } from './ring.ts'

export type Media = { id: string; phoneNumberId: string; mimeType: string; sha256: string; bytes: Buffer }

/** At most this many files; the oldest are removed. */
const MEDIA_LIMIT = 5_000
/** Of files over this size only a few are kept: five thousand of them would not fit. */
const LARGE_BYTES = 64 * 1024
const LARGE_LIMIT = 8

/** Media by id, bounded: many small files and a few large ones. */
export type MediaShelf = { add(media: Media): void; find(id: string): Media | undefined }

/** Keeps the newest files, large and small ones apart, so that large ones do not remove all others. */
export function createMediaShelf(): MediaShelf {
  const small = new Ring<Media>(MEDIA_LIMIT)
  const large = new Ring<Media>(LARGE_LIMIT)
  return {
    add: (media) => (media.bytes.length > LARGE_BYTES ? large : small).add(media),
    find: (id) => small.find((media) => media.id === id) ?? large.find((media) => media.id === id),
  }
}
