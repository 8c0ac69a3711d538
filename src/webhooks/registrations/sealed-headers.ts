import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../platform/cache/cache-bound.ts'
import type { StaticHeader } from './static-header.ts'

const MOST_KEPT = 1_000

/** Encrypts static headers as a whole, since they often contain credentials. */
export const sealHeaders = (headers: readonly StaticHeader[], encrypt: (clear: string) => string): string | null =>
  headers.length === 0 ? null : encrypt(JSON.stringify(headers))

export function openHeaders(sealed: string | null, decrypt: (sealed: string) => string): StaticHeader[] {
  return sealed === null ? [] : JSON.parse(decrypt(sealed))
}

export type HeaderOpener = (sealed: string | null) => readonly StaticHeader[]

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
