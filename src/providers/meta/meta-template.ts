import { isObject } from '../exchange.ts'
import type { ProviderTemplate, TemplateComponent } from '../provider.ts'

/** Reads one item of Meta's template list; undefined when it lacks what a template cannot do without. */
export function readTemplate(item: Record<string, unknown>, namespace: string | null): ProviderTemplate | undefined {
  const { id, name, language, status, category, components, rejected_reason: rejected } = item
  if (typeof name !== 'string' || typeof language !== 'string' || typeof status !== 'string') return undefined
  return {
    externalId: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
    name,
    language,
    status: status.toUpperCase(),
    category: typeof category === 'string' ? category.toUpperCase() : 'UTILITY',
    parameterFormat: item.parameter_format === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: Array.isArray(components) ? components.filter(isComponent) : [],
    qualityScore: isObject(item.quality_score) ? item.quality_score : null,
    rejectedReason: typeof rejected === 'string' && rejected !== 'NONE' ? rejected : '',
    namespace,
    partnerId: null,
    createdBy: null,
    modifiedBy: null,
  }
}

const isComponent = (value: unknown): value is TemplateComponent => isObject(value) && typeof value.type === 'string'
