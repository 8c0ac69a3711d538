import type { RecordChange } from '../changes/record-change.ts'
import { type Db, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import type { PassedOn, ProviderTemplate, TemplateComponent } from '../providers/provider.ts'
import type { Template, TemplateStatus } from './template.ts'

export type TemplateRow = Template & {
  externalId: string | null
  wabaAccountId: string
  qualityScore: Record<string, unknown> | null
  rejectedReason: string
  namespace: string | null
  partnerId: string | null
  updatedExternal: boolean
  createdBy: Record<string, unknown> | null
  modifiedBy: Record<string, unknown> | null
  ttlSeconds: number | null
  passedOn: PassedOn | null
  createdAt: Date
  modifiedAt: Date
}

export const rowColumns = sql`
  template.family_id, family.name, template.language, template.status, template.category,
  template.parameter_format, template.components, template.external_id, family.waba_account_id,
  template.quality_score, template.rejected_reason, template.namespace, template.partner_id,
  template.updated_external, template.created_by, template.modified_by, template.created_at, template.modified_at,
  template.ttl_seconds, template.passed_on
`

export type TemplateKey = { familyId: string; language: string }

export function listTemplatesByKeys(
  db: Db,
  companyId: number,
  keys: readonly TemplateKey[],
): Promise<(TemplateRow & { channelIds: number[] })[]> {
  return db<(TemplateRow & { channelIds: number[] })[]>`
    select
      ${rowColumns},
      array(
        select sender.id
        from senders sender
        where (sender.company_id, sender.waba_account_id) = (${companyId}, family.waba_account_id)
          and sender.deleted_at is null
        order by sender.id
      ) as channel_ids
    from ${inputRows(keys, { text: ['familyId', 'language'] }, 'changed')}
    join templates template
      on (template.company_id, template.family_id, template.language)
        = (${companyId}, changed.family_id, changed.language)
    join template_families family on (family.company_id, family.id) = (${companyId}, template.family_id)
    order by template.family_id, template.language
  `
}

export function listTemplates(db: Db, companyId: number): Promise<TemplateRow[]> {
  return db<TemplateRow[]>`
    select ${rowColumns}
    from template_families family
    join templates template
      on (template.company_id, template.family_id) = (family.company_id, family.id)
    where family.company_id = ${companyId}
      and family.waba_account_id in (
        select sender.waba_account_id
        from senders sender
        where sender.company_id = ${companyId} and sender.deleted_at is null
      )
    order by family.name, template.language, template.family_id
  `
}

/** Reads statuses under lock; the result finds later changes, except for the first list of an account. */
export async function watchTemplates(
  tx: Db,
  companyId: number,
  wabaAccountId: string,
): Promise<() => Promise<RecordChange[]>> {
  await lockTemplates(tx, companyId, wabaAccountId)
  const read = () => tx<(TemplateKey & { status: string })[]>`
    select template.family_id, template.language, template.status
    from template_families family
    join templates template on (template.company_id, template.family_id) = (family.company_id, family.id)
    where (family.company_id, family.waba_account_id) = (${companyId}, ${wabaAccountId})
  `
  const keyOf = ({ familyId, language }: TemplateKey) => `${familyId} ${language}`
  const earlier = new Map((await read()).map((row) => [keyOf(row), row.status]))
  return async () => {
    if (earlier.size === 0) return []
    const changed = (await read()).filter((row) => earlier.get(keyOf(row)) !== row.status)
    return changed.map(({ familyId, language }) => ({
      event: 'whatsapp.template.status',
      companyId,
      familyId,
      language,
    }))
  }
}

export async function hasSender(db: Db, companyId: number): Promise<boolean> {
  const rows = await db`
    select from senders where company_id = ${companyId} and deleted_at is null limit 1
  `
  return rows.length > 0
}

export type SyncedTemplate = Omit<ProviderTemplate, 'components'> & {
  newFamilyId: string
  ownStatus: TemplateStatus
  components: readonly TemplateComponent[]
}

/** Returns the database time in microseconds, as text: the driver would truncate a Date parameter to milliseconds. */
export async function readListTime(db: Db): Promise<string> {
  const [row] = await db<[{ at: string }]>`select clock_timestamp()::text as at`
  return row.at
}

/** Locks an account's templates until the transaction ends, so that only one writer applies a list. */
export async function lockTemplates(tx: Db, companyId: number, wabaAccountId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(advisory_key('templates', ${`${companyId}:${wabaAccountId}`}))`
}

/** Must be called with `lockTemplates` held. */
export async function noteMissedEvent(tx: Db, companyId: number, wabaAccountId: string): Promise<void> {
  await tx`
    insert into missed_template_events (company_id, waba_account_id, at)
    values (${companyId}, ${wabaAccountId}, clock_timestamp())
    on conflict (company_id, waba_account_id) do update set at = excluded.at
  `
}

/**
 * Replaces the account's templates by the provider's list, except those changed by events after `listedAt` (list
 * request). Families keep their ids forever. Returns true if such an event concerns an unknown template.
 */
export async function replaceTemplates(
  db: Db,
  companyId: number,
  wabaAccountId: string,
  { templates, listedAt }: { templates: readonly SyncedTemplate[]; listedAt: string },
): Promise<boolean> {
  const account = { companyId, wabaAccountId }
  await lockTemplates(db, companyId, wabaAccountId)
  await addFamilies(db, account, templates)
  await deleteAbsentVersions(db, account, templates, listedAt)
  await upsertVersions(db, account, templates, listedAt)
  return hasMissedEvent(db, account, listedAt)
}

export type TemplateAccount = { companyId: number; wabaAccountId: string }

export async function addFamilies(
  db: Db,
  { companyId, wabaAccountId }: TemplateAccount,
  templates: readonly SyncedTemplate[],
): Promise<void> {
  await db`
    insert into template_families (company_id, id, waba_account_id, name)
    select distinct on (item.name) ${companyId}::bigint, item.new_family_id, ${wabaAccountId}, item.name
    from ${inputRows(templates, { text: ['name', 'newFamilyId'] }, 'item')}
    on conflict (company_id, waba_account_id, name) do nothing
  `
}

async function deleteAbsentVersions(
  db: Db,
  { companyId, wabaAccountId }: TemplateAccount,
  templates: readonly SyncedTemplate[],
  listedAt: string,
): Promise<void> {
  await db`
    delete from templates template
    using template_families family
    where family.company_id = ${companyId}
      and family.waba_account_id = ${wabaAccountId}
      and (template.company_id, template.family_id) = (family.company_id, family.id)
      and (template.event_at is null or template.event_at < ${listedAt}::text::timestamptz)
      and not exists (
        select
        from ${inputRows(templates, { text: ['name', 'language'] }, 'item')}
        where (item.name, item.language) = (family.name, template.language)
      )
  `
}

/** Skips versions changed by events after `listedAt`. */
export async function upsertVersions(
  db: Db,
  { companyId, wabaAccountId }: TemplateAccount,
  templates: readonly SyncedTemplate[],
  listedAt: string,
): Promise<void> {
  await db`
    insert into templates as existing (
      company_id, family_id, language, external_id, status, provider_status, category, parameter_format,
      components, quality_score, rejected_reason, namespace, partner_id, created_by, modified_by, ttl_seconds,
      passed_on
    )
    select distinct on (family.id, input.language)
      family.company_id, family.id, input.language, input.external_id, input.own_status, input.status, input.category,
      input.parameter_format, input.components, input.quality_score, input.rejected_reason,
      input.namespace, input.partner_id, input.created_by, input.modified_by,
      input.ttl_seconds, input.passed_on
    from ${inputRows(templates, {
      text: [
        'name',
        'language',
        'externalId',
        'ownStatus',
        'status',
        'category',
        'parameterFormat',
        'rejectedReason',
        'namespace',
        'partnerId',
      ],
      jsonb: ['components', 'qualityScore', 'createdBy', 'modifiedBy', 'passedOn'],
      integer: ['ttlSeconds'],
    })}
    join template_families family
      on (family.company_id, family.waba_account_id, family.name) = (${companyId}, ${wabaAccountId}, input.name)
    on conflict (company_id, family_id, language) do update set
      external_id = excluded.external_id,
      status = excluded.status,
      provider_status = excluded.provider_status,
      category = excluded.category,
      parameter_format = excluded.parameter_format,
      components = excluded.components,
      quality_score = excluded.quality_score,
      rejected_reason = excluded.rejected_reason,
      namespace = excluded.namespace,
      partner_id = excluded.partner_id,
      created_by = excluded.created_by,
      modified_by = excluded.modified_by,
      ttl_seconds = excluded.ttl_seconds,
      passed_on = excluded.passed_on,
      updated_external = true,
      modified_at = now()
    where (existing.event_at is null or existing.event_at < ${listedAt}::text::timestamptz) and (
      existing.external_id, existing.status, existing.provider_status, existing.category, existing.parameter_format,
      existing.components, existing.quality_score, existing.rejected_reason, existing.namespace, existing.partner_id,
      existing.ttl_seconds, existing.passed_on
    ) is distinct from (
      excluded.external_id, excluded.status, excluded.provider_status, excluded.category, excluded.parameter_format,
      excluded.components, excluded.quality_score, excluded.rejected_reason, excluded.namespace, excluded.partner_id,
      excluded.ttl_seconds, excluded.passed_on
    )
  `
}

export async function hasMissedEvent(
  db: Db,
  { companyId, wabaAccountId }: TemplateAccount,
  listedAt: string,
): Promise<boolean> {
  const missed = await db`
    select
    from missed_template_events
    where (company_id, waba_account_id) = (${companyId}, ${wabaAccountId}) and at >= ${listedAt}::text::timestamptz
  `
  return missed.length > 0
}
