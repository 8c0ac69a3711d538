import { createHash } from 'node:crypto'
import { namespaceOf } from '../graph/account.ts'
import type { Template, TemplateComponent } from '../world/template.ts'

/** A template as Gupshup lists it: its parts as JSON in a text, its own id beside Meta's. */
export function templateOf({ wabaAccountId, record }: Template, appId: string) {
  const find = (type: string) => record.components.find((component) => component.type.toUpperCase() === type)
  const header = find('HEADER')
  const body = find('BODY')?.text ?? ''
  const footer = find('FOOTER')?.text
  return {
    id: ownIdOf(record.id),
    appId,
    elementName: record.name,
    languageCode: record.language,
    languagePolicy: 'deterministic',
    category: record.category,
    templateType: header?.format ?? 'TEXT',
    data: footer === undefined ? body : `${body}\n${footer}`,
    containerMeta: JSON.stringify(partsOf(body, header, footer, find('BUTTONS'))),
    status: record.status,
    reason: record.rejected_reason === 'NONE' ? null : record.rejected_reason,
    namespace: namespaceOf(wabaAccountId),
    wabaId: wabaAccountId,
    externalId: record.id,
    quality: record.quality_score.score,
    parameterFormat: record.parameter_format,
    createdOn: 1_767_258_000_000,
    modifiedOn: 1_767_258_000_000,
  }
}

const partsOf = (
  data: string,
  header: TemplateComponent | undefined,
  footer: string | undefined,
  buttons: TemplateComponent | undefined,
) => ({
  appId: '',
  data,
  ...(header?.text !== undefined && { header: header.text }),
  ...(footer !== undefined && { footer }),
  ...(buttons?.buttons && { buttons: buttons.buttons }),
  sampleText: data.replaceAll(/\{\{[^}]*\}\}/g, 'sample'),
})

/** The id by which Gupshup's own events name a template. */
export function ownIdOf(id: string): string {
  const hex = createHash('sha256').update(`gupshup ${id}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
