import type {
  MessageContent,
  Template,
  TemplateComponent,
  TemplateParameter,
} from '../../client/src/generated/schemas.ts'

/** A value that a template needs. */
export type Slot = {
  id: string
  part: 'HEADER' | 'BODY' | 'BUTTONS'
  /** `1` or a name; empty for a file. */
  name: string
  isNamed: boolean
  /** The kind of file that the header shows. */
  media: 'image' | 'video' | 'document' | null
  example: string
}

const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g
const MEDIA = { IMAGE: 'image', VIDEO: 'video', DOCUMENT: 'document' } as const

/** The values that the template needs, in the order in which they are sent. */
export function slotsOf({ components }: Template): Slot[] {
  return components.flatMap((component) => {
    const type = textAt(component, 'type')
    if (type === 'HEADER') return headerSlots(component)
    if (type === 'BODY') return textSlots('BODY', textAt(component, 'text'))
    return type === 'BUTTONS' ? buttonSlots(component) : []
  })
}

/** The text of the template with the values in place; a value that is missing shows as its placeholder. */
export function previewOf({ components }: Template, slots: Slot[], values: Record<string, string>) {
  const fill = (part: Slot['part'], text: string) =>
    text.replace(PLACEHOLDER, (whole, name) => {
      const slot = slots.find((one) => one.part === part && one.name === name)
      return (slot && values[slot.id]) || whole
    })
  const find = (type: string) => components.find((component) => textAt(component, 'type') === type)
  const textOf = (type: string) => textAt(find(type) ?? {}, 'text')
  return {
    header: fill('HEADER', textOf('HEADER')),
    body: fill('BODY', textOf('BODY')),
    footer: textOf('FOOTER'),
    buttons: buttonsOf(find('BUTTONS') ?? {}).map((button) => textAt(button, 'text')),
  }
}

/** The body of the send. */
export function contentOf(template: Template, slots: Slot[], values: Record<string, string>): MessageContent {
  const components = (['HEADER', 'BODY', 'BUTTONS'] as const).flatMap((type): TemplateComponent[] => {
    const parameters = slots.filter(({ part }) => part === type).map((slot) => parameterOf(slot, values[slot.id] ?? ''))
    return parameters.length === 0 ? [] : [{ type, parameters }]
  })
  return { type: 'template', template: { id: template.id, languageCode: template.language, components } }
}

function parameterOf({ media, isNamed, name }: Slot, value: string): TemplateParameter {
  if (media !== null) return { type: media, [media]: { link: value } }
  return { type: 'text', text: value, ...(isNamed && { parameter_name: name }) }
}

function headerSlots(component: Record<string, unknown>): Slot[] {
  const format = textAt(component, 'format')
  if (format === 'IMAGE' || format === 'VIDEO' || format === 'DOCUMENT') {
    return [{ id: 'header file', part: 'HEADER', name: '', isNamed: false, media: MEDIA[format], example: '' }]
  }
  return textSlots('HEADER', textAt(component, 'text'))
}

function textSlots(part: Slot['part'], text: string): Slot[] {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))]
  return names.map((name) => ({
    id: `${part} ${name}`,
    part,
    name,
    isNamed: !/^\d+$/.test(name),
    media: null,
    example: '',
  }))
}

/** The k-th value fills the k-th button that takes one. */
const buttonSlots = (component: Record<string, unknown>): Slot[] =>
  buttonsOf(component)
    .filter((button) => textAt(button, 'url').includes('{{'))
    .map((button, index) => ({
      id: `button ${index}`,
      part: 'BUTTONS',
      name: textAt(button, 'text'),
      isNamed: false,
      media: null,
      example: '',
    }))

const buttonsOf = ({ buttons }: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(buttons) ? buttons.map(Object) : []

const textAt = (value: Record<string, unknown>, name: string): string => {
  const text = value[name]
  return typeof text === 'string' ? text : ''
}
