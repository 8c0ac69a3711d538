import { isRecord } from '../platform/text/json-text.ts'
import { idOf, text } from './graph-answer.ts'
import type { NewTemplate, ProviderTemplate, TemplateComponent } from './provider.ts'

/** Reads a template in Meta's format; undefined without a required member. Unreported members are null. */
export function readTemplate(item: Record<string, unknown>): ProviderTemplate | undefined {
  const { id, name, language, status, category, components, rejected_reason: rejected } = item
  if (typeof name !== 'string' || typeof language !== 'string' || typeof status !== 'string') return undefined
  return {
    externalId: idOf(id),
    name,
    language,
    status: status.toUpperCase(),
    category: typeof category === 'string' ? category.toUpperCase() : 'UTILITY',
    parameterFormat: item.parameter_format === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: Array.isArray(components) ? components.filter(isComponent) : [],
    qualityScore: isRecord(item.quality_score) ? item.quality_score : null,
    rejectedReason: typeof rejected === 'string' && rejected !== 'NONE' ? rejected : '',
    namespace: text(item.namespace),
    partnerId: null,
    createdBy: null,
    modifiedBy: null,
    ttlSeconds: typeof item.message_send_ttl_seconds === 'number' ? item.message_send_ttl_seconds : null,
    passedOn: null,
  }
}

const isComponent = (value: unknown): value is TemplateComponent => isRecord(value) && typeof value.type === 'string'

/** Builds a new template in Meta's format. */
export const toGraphTemplate = ({ name, language, parameterFormat, ...template }: NewTemplate): object => ({
  name,
  language,
  ...(parameterFormat === 'NAMED' && { parameter_format: parameterFormat }),
  ...toGraphChange(template),
})

/** Builds the editable template members. */
export const toGraphChange = (template: Pick<NewTemplate, 'category' | 'components' | 'ttlSeconds'>): object => ({
  category: template.category,
  ...(template.ttlSeconds !== undefined && { message_send_ttl_seconds: template.ttlSeconds }),
  components: template.components,
})
