import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../platform/cache/cache-bound.ts'
import type { StaticHeader } from './static-header.ts'

/** Opened headers that are kept in clear, those used last. */
const MOST_KEPT = 1_000

/** Static headers as they are stored: encrypted as a whole, since they often are credentials. Null: there are none. */
export const sealHeaders = (headers: readonly StaticHeader[], encrypt: (clear: string) => string): string | null =>
  headers.length === 0 ? null : encrypt(JSON.stringify(headers))

/** @throws Error when they cannot be decrypted */
export function openHeaders(sealed: string | null, decrypt: (sealed: string) => string): StaticHeader[] {
  return sealed === null ? [] : JSON.parse(decrypt(sealed))
}

export type HeaderOpener = (sealed: string | null) => readonly StaticHeader[]

/** Opens the same sealed headers once and not for every delivery. */
export function createHeaderOpener(decrypt: (sealed: string) => string): HeaderOpener {
  const cache = new LRUCache<string, readonly StaticHeader[]>(maxEntries(MOST_KEPT))
  return (sealed) => {
    if (sealed === null) return []
    const existing = cache.get(sealed)
    if (existing !== undefined) return existing
    const headers = openHeaders(sealed, decrypt)
    cache.set(sealed, headers)
    return headers
  }
}
