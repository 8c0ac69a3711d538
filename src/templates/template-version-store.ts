import { type Db, sql } from '../db/connect.ts'
import { createCache } from '../platform/cache.ts'
import type { Template } from './template.ts'

const MAX_FAMILIES = 5_000
const TTL_MS = 3_000

export type TemplateCache = {
  /** Oldest first; at most 3 s stale, but current after a change by this process. */
  versionsOf(companyId: number, wabaAccountId: string, family: { id: string } | { name: string }): Promise<Template[]>
  drop(): void
}

export function createTemplateCache(db: Db): TemplateCache {
  const held = createCache<string, Promise<Template[]>>({ name: 'templates', max: MAX_FAMILIES, ttlMs: TTL_MS })
  return {
    versionsOf: (companyId, wabaAccountId, family) =>
      held.get(JSON.stringify([companyId, wabaAccountId, family]), () =>
        findVersions(db, companyId, wabaAccountId, family),
      ),
    drop: () => held.drop(),
  }
}

export function findVersions(
  db: Db,
  companyId: number,
  wabaAccountId: string,
  family: { id: string } | { name: string },
): Promise<Template[]> {
  const condition = 'id' in family ? sql`family.id = ${family.id}` : sql`family.name = ${family.name}`
  return db<Template[]>`
    select
      template.family_id, family.name, template.language, template.status, template.category,
      template.parameter_format, template.components
    from template_families family
    join templates template
      on (template.company_id, template.family_id) = (family.company_id, family.id)
    where family.company_id = ${companyId}
      and family.waba_account_id = ${wabaAccountId}
      and ${condition}
    order by template.created_at, template.language
  `
}
