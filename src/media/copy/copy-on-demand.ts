import { setTimeout as wait } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../platform/cache/cache-bound.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import type { MediaRow } from '../media-store.ts'
import { type Copy, type CopyDeps, tryCopy } from './copy-media.ts'

/** How long a reader waits for a copy; the copy itself goes on. */
const PATIENCE_MS = 10_000
/** Readers cause no more than one copy in this time, so that an address cannot be used to overload the provider. */
export const PAUSE_SECONDS = 15
const COPIES_HELD = 10_000

export type CopyOnDemand = (media: MediaRow) => Promise<void>

/**
 * Copies media that a reader asks for before their copy was made; resolves when the reader should look again.
 * @throws {StorageFailure} when the media storage takes no copy
 */
export function createCopyOnDemand(deps: CopyDeps): CopyOnDemand {
  const copies = new LRUCache<string, Promise<Copy>>({ ...maxEntries(COPIES_HELD), ttl: PAUSE_SECONDS * 1_000 })
  return async (media) => {
    const key = `${media.companyId} ${media.messageId}`
    const copy = copies.get(key) ?? tryCopy(deps, media)
    if (!copies.has(key)) copies.set(key, copy)
    const patience = new AbortController()
    const outOfPatience = wait(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined)
    const outcome = await Promise.race([copy, outOfPatience]).finally(() => patience.abort())
    if (outcome?.kind === 'not-yet' && outcome.cause instanceof StorageFailure) throw outcome.cause
  }
}
