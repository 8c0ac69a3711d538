import { isObject } from '../events/json-member.ts'
import { idOf, objectsIn } from '../graph-answer.ts'
import { text } from '../graph-error.ts'
import { readJsonObject } from '../json-answer.ts'
import type { ProviderTemplate, TemplateComponent } from '../provider.ts'
import { qualityOf } from './gupshup-quality.ts'

/** Other template types have a text header or none. */
const HEADER_FORMATS = new Set(['IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION', 'GIF'])

/** Reads an entry in `templates[]` in Meta's form; undefined without a required member. */
export function readGupshupTemplate(item: Record<string, unknown>, appId: string): ProviderTemplate | undefined {
  const name = text(item.elementName)
  const language = text(item.languageCode)
  const status = text(item.status)
  if (name === null || language === null || status === null) return undefined
  const quality = text(item.quality)
  return {
    externalId: idOf(item.externalId) ?? idOf(item.id),
    name,
    language,
    status: status.toUpperCase(),
    category: text(item.category)?.toUpperCase() ?? 'UTILITY',
    parameterFormat: item.parameterFormat === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: toComponents(item),
    qualityScore: quality === null ? null : { score: qualityOf(quality) },
    rejectedReason: readReason(item),
    namespace: text(item.namespace),
    partnerId: appId,
    createdBy: null,
    modifiedBy: null,
    ttlSeconds: null,
    passedOn: null,
  }
}

function readReason({ reason }: Record<string, unknown>): string {
  const message = text(reason) ?? ''
  return message === 'NONE' ? '' : message
}

/** Parts are JSON text; unparsable text becomes the body. */
function toComponents(item: Record<string, unknown>): TemplateComponent[] {
  const parts = readJsonObject(Buffer.from(text(item.containerMeta) ?? '')) ?? {}
  const body = text(parts.data) ?? text(item.data)
  const footer = text(parts.footer)
  const buttons = objectsIn(parts.buttons).filter(isButton)
  return [
    ...headerOf(text(item.templateType)?.toUpperCase() ?? '', parts),
    ...(body === null ? [] : [{ type: 'BODY', text: body, ...exampleOf(parts) }]),
    ...(footer === null ? [] : [{ type: 'FOOTER', text: footer }]),
    ...(buttons.length === 0 ? [] : [{ type: 'BUTTONS', buttons }]),
  ]
}

function headerOf(kind: string, parts: Record<string, unknown>): TemplateComponent[] {
  if (HEADER_FORMATS.has(kind)) return [{ type: 'HEADER', format: kind }]
  const header = text(parts.header)
  return header === null ? [] : [{ type: 'HEADER', format: 'TEXT', text: header }]
}

/** The sample is the filled-in text, not its values. */
const exampleOf = (parts: Record<string, unknown>) => {
  const sample = text(parts.sampleText)
  return sample === null ? {} : { example: { sample_text: sample } }
}

const isButton = (value: unknown): value is { type: string } => isObject(value) && typeof value.type === 'string'
