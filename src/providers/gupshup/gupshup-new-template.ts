import { memberOf } from '../../platform/text/own-member.ts'
import { idOf, objectsIn } from '../graph-answer.ts'
import { text } from '../graph-error.ts'
import type { NewTemplate, TemplateComponent, TemplateReceipt } from '../provider.ts'

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
