import { type Db, sql } from '../../db/connect.ts'
import {
  addFamilies,
  hasMissedEvent,
  lockTemplates,
  noteMissedEvent,
  rowColumns,
  type SyncedTemplate,
  type TemplateAccount,
  type TemplateRow,
  upsertVersions,
} from '../template-store.ts'

/** Without a language, finds the oldest version. */
export async function findTemplate(
  db: Db,
  companyId: number,
  wabaAccountId: string,
  { name, language }: { name: string; language?: string },
): Promise<TemplateRow | undefined> {
  const [row] = await db<TemplateRow[]>`
    select ${rowColumns}
    from template_families family
    join templates template on (template.company_id, template.family_id) = (family.company_id, family.id)
    where (family.company_id, family.waba_account_id, family.name) = (${companyId}, ${wabaAccountId}, ${name})
      ${language === undefined ? sql`` : sql`and template.language = ${language}`}
    order by template.created_at, template.language
    limit 1
  `
  return row
}

/** Returns true if an event after `listedAt` (provider call) concerns this or an unknown template. */
export async function writeTemplate(
  tx: Db,
  companyId: number,
  wabaAccountId: string,
  { template, listedAt }: { template: SyncedTemplate; listedAt: string },
): Promise<boolean> {
  const account = { companyId, wabaAccountId }
  await lockTemplates(tx, companyId, wabaAccountId)
  await addFamilies(tx, account, [template])
  const isChanged = await hasEvent(tx, account, template, listedAt)
  await upsertVersions(tx, account, [template], listedAt)
  return isChanged || hasMissedEvent(tx, account, listedAt)
}

async function hasEvent(
  tx: Db,
  { companyId, wabaAccountId }: TemplateAccount,
  { name, language }: SyncedTemplate,
  listedAt: string,
): Promise<boolean> {
  const rows = await tx`
    select
    from template_families family
    join templates template on (template.company_id, template.family_id) = (family.company_id, family.id)
    where (family.company_id, family.waba_account_id, family.name) = (${companyId}, ${wabaAccountId}, ${name})
      and template.language = ${language}
      and template.event_at >= ${listedAt}::text::timestamptz
  `
  return rows.length > 0
}

/** Keeps lists requested earlier from changing the version. */
export async function markChanged(
  tx: Db,
  companyId: number,
  wabaAccountId: string,
  { name, language }: { name: string; language: string },
): Promise<void> {
  await tx`
    update templates template
    set event_at = clock_timestamp()
    from template_families family
    where (family.company_id, family.waba_account_id, family.name) = (${companyId}, ${wabaAccountId}, ${name})
      and (template.company_id, template.family_id, template.language) = (family.company_id, family.id, ${language})
  `
}

/** Deletes all languages; a running sync must read the list again. */
export async function deleteVersions(tx: Db, companyId: number, wabaAccountId: string, name: string): Promise<void> {
  await lockTemplates(tx, companyId, wabaAccountId)
  await tx`
    delete from templates template
    using template_families family
    where (family.company_id, family.waba_account_id, family.name) = (${companyId}, ${wabaAccountId}, ${name})
      and (template.company_id, template.family_id) = (family.company_id, family.id)
  `
  await noteMissedEvent(tx, companyId, wabaAccountId)
}
