import type {
  MessageContent,
  Template,
  TemplateComponent,
  TemplateParameter,
} from '../../../../client/src/generated/schemas.ts'

/** A value that a template needs. */
export type Slot = {
  id: string
  part: 'HEADER' | 'BODY' | 'BUTTONS'
  /** `1` or a name; empty for a file. */
  name: string
  isNamed: boolean
  /** The kind of file that the header shows. */
  media: 'image' | 'video' | 'document' | null
  /** The provider's example, else empty. */
  example: string
  /** The sentence that the value belongs to, with the value's placeholder in its place. */
  sentence: Sentence
}
export type Sentence = { before: string; placeholder: string; after: string }

const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g
const MEDIA = { IMAGE: 'image', VIDEO: 'video', DOCUMENT: 'document' } as const

/** The values that the template needs, in the order in which they are sent. */
export function slotsOf({ components }: Template): Slot[] {
  return components.flatMap((component) => {
    const type = textAt(component, 'type')
    if (type === 'HEADER') return headerSlots(component)
    if (type === 'BODY') return textSlots('BODY', component)
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

/** The values that the name of the contact gives: `first_name`, and the first value of a body that counts its values. */
export function prefilled(template: Template, slots: Slot[], contactName: string | null): Record<string, string> {
  const name = contactName?.trim() ?? ''
  // The value of a one-time code is the code.
  if (name === '' || template.category === 'AUTHENTICATION') return {}
  const first = slots.find(({ part, isNamed }) => part === 'BODY' && !isNamed)
  const values = slots.flatMap((slot): [string, string][] => {
    if (slot.isNamed && slot.name === 'first_name') return [[slot.id, name.split(/\s+/)[0] ?? name]]
    return slot === first ? [[slot.id, name]] : []
  })
  return Object.fromEntries(values)
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
  if (media !== null) return { type: media, [media]: slotMedia(value) }
  return { type: 'text', text: value, ...(isNamed && { parameter_name: name }) }
}

/** The file of a header: the id of an uploaded one, else an address. */
export const slotMedia = (value: string): { mediaId: string } | { link: string } =>
  /^med_\w+$/.test(value) ? { mediaId: value } : { link: value.trim() }

function headerSlots(component: Record<string, unknown>): Slot[] {
  const format = textAt(component, 'format')
  if (format === 'IMAGE' || format === 'VIDEO' || format === 'DOCUMENT') {
    const sentence = { before: '', placeholder: '', after: '' }
    return [
      { id: 'header file', part: 'HEADER', name: '', isNamed: false, media: MEDIA[format], example: '', sentence },
    ]
  }
  return textSlots('HEADER', component)
}

function textSlots(part: 'HEADER' | 'BODY', component: Record<string, unknown>): Slot[] {
  const text = textAt(component, 'text')
  const found = new Set<string>()
  return [...text.matchAll(PLACEHOLDER)].flatMap((match): Slot[] => {
    const [, name = ''] = match
    if (found.has(name)) return []
    found.add(name)
    const isNamed = !/^\d+$/.test(name)
    const example = exampleOf(component, part, isNamed ? name : Number(name) - 1)
    return [{ id: `${part} ${name}`, part, name, isNamed, media: null, example, sentence: sentenceOf(text, match) }]
  })
}

/** The example of a value by its name or place, as the provider lists it. */
function exampleOf({ example }: Record<string, unknown>, part: 'HEADER' | 'BODY', of: string | number): string {
  const examples: Record<string, unknown> = Object(example)
  const key = part.toLowerCase()
  if (typeof of === 'number') return textIn([examples[`${key}_text`]].flat(2), of)
  const named = [examples[`${key}_text_named_params`]].flat().map(Object)
  return textAt(named.find((one) => one.param_name === of) ?? {}, 'example')
}

/** Characters of a label on each side of the value. */
const SIDE = 32

/** The text around a placeholder in its line, cut between words; other values are an ellipsis. */
function sentenceOf(text: string, { index, 0: placeholder }: RegExpExecArray): Sentence {
  const before = text.slice(text.lastIndexOf('\n', index) + 1, index).replace(PLACEHOLDER, '…')
  const [line = ''] = text.slice(index + placeholder.length).split('\n', 1)
  const after = line.replace(PLACEHOLDER, '…')
  return {
    before: before.length <= SIDE ? before : `… ${before.slice(-SIDE).replace(/^\S*\s/, '')}`,
    placeholder,
    after: after.length <= SIDE ? after : `${after.slice(0, SIDE).replace(/\s\S*$/, '')} …`,
  }
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
      example: textIn([button.example].flat(), 0),
      sentence: { before: `${textAt(button, 'text')}: `, placeholder: '{{1}}', after: '' },
    }))

const buttonsOf = ({ buttons }: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(buttons) ? buttons.map(Object) : []

const textAt = (value: Record<string, unknown>, name: string): string => {
  const text = value[name]
  return typeof text === 'string' ? text : ''
}

const textIn = (values: unknown[], index: number): string => {
  const value = values[index]
  return typeof value === 'string' ? value : ''
}
