import type { Db, Json } from '../db/connect.ts'
import type { TemplateStatus } from './template.ts'
import { lockTemplates, noteMissedEvent } from './template-store.ts'

/** A provider's change of a template; absent members stay. */
export type TemplateEvent = {
  companyId: number
  wabaAccountId: string
  externalId: string | null
  name: string | null
  language: string | null
  /** Null: the provider's word changes no status, but is kept. */
  status?: TemplateStatus | null
  providerStatus?: string
  rejectedReason?: string
  category?: string
  qualityScore?: string
}

/**
 * Applies template events (spec: template `status`). A template is found by the provider's id, else by account, name
 * and language; an event about an unknown template is noted, so that a sync that is running reads the list again, and the next
 * sync brings it otherwise. In order: of several events about one template the last one counts.
 */
export async function applyTemplateEvents(tx: Db, events: readonly TemplateEvent[]): Promise<void> {
  for (const event of events) {
    if (await applyEvent(tx, event)) continue
    // A sync that is writing its list may be adding the template.
    await lockTemplates(tx, event.companyId, event.wabaAccountId)
    if (!(await applyEvent(tx, event))) await noteMissedEvent(tx, event.companyId, event.wabaAccountId)
  }
}

/** Returns whether there is such a template. */
async function applyEvent(tx: Db, event: TemplateEvent): Promise<boolean> {
  const changed = await tx`
      update templates template
      set
        status = coalesce(${event.status ?? null}, template.status),
        provider_status = coalesce(${event.providerStatus ?? null}, template.provider_status),
        rejected_reason = coalesce(${rejectedReason(event)}, template.rejected_reason),
        category = coalesce(${event.category ?? null}, template.category),
        quality_score = coalesce(
          ${event.qualityScore === undefined ? null : tx.json({ score: event.qualityScore } as Json)}::jsonb,
          template.quality_score
        ),
        updated_external = true,
        modified_at = now(),
        event_at = now()
      from template_families family
      where (family.company_id, family.id) = (template.company_id, template.family_id)
        and family.company_id = ${event.companyId}
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
  return changed.count > 0
}

/** The reason belongs to the state: an approval clears it. */
const rejectedReason = ({ status, rejectedReason: reason }: TemplateEvent): string | null =>
  status === null || status === undefined ? null : status === 'APPROVED' ? '' : (reason ?? null)
