import { type Db, type Json, sql } from '../db/connect.ts'
import type { TemplateStatus } from './template.ts'
import { lockTemplates, noteMissedEvent, type TemplateKey } from './template-store.ts'

/** Absent members stay. */
export type TemplateEvent = {
  companyId: number
  wabaAccountId: string
  externalId: string | null
  name: string | null
  language: string | null
  /** Null: only the provider's status is stored. */
  status?: TemplateStatus | null
  providerStatus?: string
  rejectedReason?: string
  category?: string
  qualityScore?: string
  components?: ChangedComponents
  /** Provider clock. */
  at: Date
}

/** Null: none of this kind. */
export type ChangedComponents = {
  header: string | null
  body: string | null
  footer: string | null
  buttons: readonly object[]
}

/**
 * Applies template events (spec: template `status`) unless older than the current value; returns templates with a new
 * status. Records events about unknown templates, so that a running sync must read the list again.
 */
export async function applyTemplateEvents(tx: Db, events: readonly TemplateEvent[]): Promise<ChangedTemplate[]> {
  const changed = new Map<string, ChangedTemplate>()
  const apply = async (event: TemplateEvent) => {
    const found = await applyEvent(tx, event)
    for (const { hasNewStatus, ...template } of found) {
      if (hasNewStatus) changed.set(`${template.companyId} ${template.familyId} ${template.language}`, template)
    }
    return found.length > 0 || hasTemplate(tx, event)
  }
  for (const event of events) {
    if (await apply(event)) continue
    // A concurrent sync may be adding the template.
    await lockTemplates(tx, event.companyId, event.wabaAccountId)
    if (!(await apply(event))) await noteMissedEvent(tx, event.companyId, event.wabaAccountId)
  }
  return [...changed.values()]
}

type ChangedTemplate = TemplateKey & { companyId: number }

function applyEvent(tx: Db, event: TemplateEvent): Promise<(ChangedTemplate & { hasNewStatus: boolean })[]> {
  return tx<(ChangedTemplate & { hasNewStatus: boolean })[]>`
    with found as materialized (
      select template.company_id, template.family_id, template.language, template.status
      from template_families family
      join templates template on (template.company_id, template.family_id) = (family.company_id, family.id)
      where ${isNamed(event)}
        and (${setAt(event)} is null or ${setAt(event)} <= ${event.at})
      for update of template
    )
    update templates template
    set
      ${changesOf(tx, event)},
      updated_external = true,
      modified_at = now(),
      -- The provider's record is older than the event; the next list brings the new one.
      passed_on = template.passed_on - '{modified_at,updated_external}'::text[],
      event_at = now()
    from found
    where (template.company_id, template.family_id, template.language)
      = (found.company_id, found.family_id, found.language)
    returning
      template.company_id, template.family_id, template.language, template.status <> found.status as has_new_status
  `
}

async function hasTemplate(tx: Db, event: TemplateEvent): Promise<boolean> {
  const found = await tx`
    select
    from template_families family
    join templates template on (template.company_id, template.family_id) = (family.company_id, family.id)
    where ${isNamed(event)}
    limit 1
  `
  return found.length > 0
}

const isNamed = (event: TemplateEvent) => sql`
  family.company_id = ${event.companyId}
  and family.waba_account_id = ${event.wabaAccountId}
  and (
    template.external_id = ${event.externalId}
    or (
      family.name = ${event.name}
      and replace(template.language, '-', '_') = ${event.language}
      and (${event.externalId}::text is null or template.external_id is null)
    )
  )
`

function setAt(event: TemplateEvent) {
  if (event.components !== undefined) return sql`template.components_at`
  if (event.qualityScore !== undefined) return sql`template.quality_at`
  return event.category === undefined ? sql`template.status_at` : sql`template.category_at`
}

function changesOf(tx: Db, event: TemplateEvent) {
  if (event.components !== undefined) {
    return sql`
      components = ${mediaHeader(event.components)} || ${tx.json(componentsOf(event.components) as unknown as Json)}::jsonb,
      components_at = ${event.at}
    `
  }
  if (event.qualityScore !== undefined) {
    return sql`quality_score = ${tx.json({ score: event.qualityScore } as Json)}, quality_at = ${event.at}`
  }
  if (event.category !== undefined) return sql`category = ${event.category}, category_at = ${event.at}`
  return sql`
    status = coalesce(${event.status ?? null}, template.status),
    provider_status = coalesce(${event.providerStatus ?? null}, template.provider_status),
    rejected_reason = coalesce(${rejectedReason(event)}, template.rejected_reason),
    status_at = ${event.at}
  `
}

/** Belongs to the status: an approval clears it. */
const rejectedReason = ({ status, rejectedReason: reason }: TemplateEvent): string | null =>
  status === null || status === undefined ? null : status === 'APPROVED' ? '' : (reason ?? null)

/** Events omit headers without text, so those must stay. */
const mediaHeader = ({ header }: ChangedComponents) =>
  header !== null
    ? sql`'[]'::jsonb`
    : sql`
        coalesce(
          (
            select jsonb_agg(component)
            from jsonb_array_elements(template.components) as component
            where component->>'type' = 'HEADER' and component->>'format' <> 'TEXT'
          ),
          '[]'
        )
      `

const componentsOf = ({ header, body, footer, buttons }: ChangedComponents): object[] => [
  ...(header === null ? [] : [{ type: 'HEADER', format: 'TEXT', text: header }]),
  ...(body === null ? [] : [{ type: 'BODY', text: body }]),
  ...(footer === null ? [] : [{ type: 'FOOTER', text: footer }]),
  ...(buttons.length === 0 ? [] : [{ type: 'BUTTONS', buttons }]),
]
