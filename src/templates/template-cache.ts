import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import type { Template } from './template.ts'
import { findVersions } from './template-store.ts'

const MAX_FAMILIES = 5_000
const TTL_MS = 3_000

export type TemplateCache = {
  /** The versions of a family, oldest first; at most 3 s old, in this process at once after a change. */
  versionsOf(companyId: number, wabaAccountId: string, family: { id: string } | { name: string }): Promise<Template[]>
  clear(): void
}

export function createTemplateCache(db: Db): TemplateCache {
  type Query = { companyId: number; wabaAccountId: string; family: { id: string } | { name: string } }
  const cache = new LRUCache<string, Template[], Query>({
    max: MAX_FAMILIES,
    ttl: TTL_MS,
    fetchMethod: (_key, _stale, { context }) =>
      findVersions(db, context.companyId, context.wabaAccountId, context.family),
  })
  return {
    versionsOf: async (companyId, wabaAccountId, family) => {
      const key = JSON.stringify([companyId, wabaAccountId, family])
      return (await cache.fetch(key, { context: { companyId, wabaAccountId, family } })) ?? []
    },
    clear: () => cache.clear(),
  }
}
