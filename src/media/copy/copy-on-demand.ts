import { setTimeout as wait } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../platform/cache.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import type { MediaRow } from '../media-store.ts'
import { type Copy, type CopyDeps, tryCopy } from './copy-media.ts'

/** How long a reader waits; the copy continues afterwards. */
const PATIENCE_MS = 10_000
/** At most one copy per file in this time, so that requests can't overload the provider. */
export const PAUSE_SECONDS = 15
const COPIES_HELD = 10_000

export type CopyOnDemand = (media: MediaRow) => Promise<void>

/** Copies requested media and resolves when the reader should look again. @throws {StorageFailure} */
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
