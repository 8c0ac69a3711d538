import type { TemplateButton, TemplateComponent } from '../world/template.ts'

/** A new template in Gupshup's form, as Meta has it. */
export function readNewTemplate(body: Buffer): Record<string, unknown> {
  const form = new URLSearchParams(body.toString())
  const type = form.get('templateType') ?? 'TEXT'
  const header = form.get('header')
  const footer = form.get('footer')
  const buttons = form.get('buttons')
  const components: TemplateComponent[] = [
    ...(type !== 'TEXT'
      ? [{ type: 'HEADER', format: type, example: { header_handle: form.getAll('exampleMedia') } }]
      : []),
    ...(header !== null ? [{ type: 'HEADER', format: 'TEXT', text: header }] : []),
    { type: 'BODY', text: form.get('content') ?? '', example: { sample_text: form.get('example') } },
    ...(footer !== null ? [{ type: 'FOOTER', text: footer }] : []),
    ...(buttons !== null ? [{ type: 'BUTTONS', buttons: JSON.parse(buttons) as TemplateButton[] }] : []),
  ]
  return {
    name: form.get('elementName'),
    language: form.get('languageCode'),
    category: form.get('category'),
    parameter_format: form.get('parameterFormat') ?? 'POSITIONAL',
    components,
  }
}
