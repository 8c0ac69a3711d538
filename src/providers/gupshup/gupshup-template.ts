import { isRecord, memberOf } from '../../platform/text/json-text.ts'
import { idOf, objectsIn, readJsonObject, text } from '../graph-answer.ts'
import type { NewTemplate, ProviderTemplate, TemplateComponent, TemplateReceipt } from '../provider.ts'

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

const isButton = (value: unknown): value is { type: string } => isRecord(value) && typeof value.type === 'string'

/** Builds Gupshup's template form, with filled-in text as the sample. */
export function toGupshupTemplate({
  name,
  language,
  category,
  parameterFormat,
  components,
}: NewTemplate): URLSearchParams {
  const find = (type: string) => components.find((component) => component.type === type)
  const [header, body, footer, buttons] = ['HEADER', 'BODY', 'FOOTER', 'BUTTONS'].map(find)
  const form = new URLSearchParams({
    elementName: name,
    languageCode: language,
    category,
    templateType: header?.format ?? 'TEXT',
    vertical: name,
    content: body?.text ?? '',
    example: filledIn(body, ['body_text', 'body_text_named_params']),
    enableSample: 'true',
  })
  if (parameterFormat === 'NAMED') form.set('parameterFormat', parameterFormat)
  if (header?.text !== undefined) {
    form.set('header', header.text)
    form.set('exampleHeader', filledIn(header, ['header_text', 'header_text_named_params']))
  }
  const [handle] = listOf(header?.example, 'header_handle')
  if (typeof handle === 'string') form.set('exampleMedia', handle)
  if (footer?.text !== undefined) form.set('footer', footer.text)
  if (buttons?.buttons) form.set('buttons', JSON.stringify(buttons.buttons))
  return form
}

/** Reads a created template. Events use Gupshup's id until the list has Meta's. */
export const readGupshupReceipt = (created: Record<string, unknown>, asked: NewTemplate): TemplateReceipt => ({
  externalId: idOf(created.externalId) ?? idOf(created.id),
  status: text(created.status)?.toUpperCase() ?? 'PENDING',
  category: text(created.category)?.toUpperCase() ?? asked.category,
})

/** Finds Gupshup's own template id, required for edits. */
export const findOwnId = (templates: unknown, { name, language }: NewTemplate): string | undefined => {
  const found = objectsIn(templates).find((one) => one.elementName === name && one.languageCode === language)
  return (found && idOf(found.id)) ?? undefined
}

function filledIn(component: TemplateComponent | undefined, [positional, named]: [string, string]): string {
  const [first, ...others] = listOf(component?.example, positional)
  const values: unknown[] = Array.isArray(first) ? first : [first, ...others]
  const samples = new Map(values.map((value, place) => [String(place + 1), String(value)]))
  for (const one of objectsIn(listOf(component?.example, named)))
    samples.set(String(one.param_name), String(one.example))
  return (component?.text ?? '').replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, key: string) => samples.get(key) ?? whole)
}

function listOf(example: unknown, name: string): unknown[] {
  const value = memberOf(example, name)
  return Array.isArray(value) ? value : []
}

const QUALITIES = new Map([
  ['HIGH', 'GREEN'],
  ['MEDIUM', 'YELLOW'],
  ['LOW', 'RED'],
])

/** Maps a rating to the contract's names; unknown ones become `UNKNOWN`. */
export function qualityOf(word: string): string {
  const rating = word.toUpperCase()
  return QUALITIES.get(rating) ?? (['GREEN', 'YELLOW', 'RED'].includes(rating) ? rating : 'UNKNOWN')
}
