import type { Db } from '../db/connect.ts'
import { createPromiseCache } from '../platform/cache.ts'
import type { Template } from './template.ts'
import { findVersions } from './template-store.ts'

const MAX_FAMILIES = 5_000
const TTL_MS = 3_000

export type TemplateCache = {
  /** Oldest first; at most 3 s stale, but current after a change by this process. */
  versionsOf(companyId: number, wabaAccountId: string, family: { id: string } | { name: string }): Promise<Template[]>
  clear(): void
}

export function createTemplateCache(db: Db): TemplateCache {
  const held = createPromiseCache<string, Template[]>({ max: MAX_FAMILIES, ttlMs: TTL_MS })
  return {
    versionsOf: (companyId, wabaAccountId, family) =>
      held.get(JSON.stringify([companyId, wabaAccountId, family]), () =>
        findVersions(db, companyId, wabaAccountId, family),
      ),
    clear: held.clear,
  }
}
