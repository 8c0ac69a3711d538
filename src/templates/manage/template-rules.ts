import type { FieldFault } from '../../platform/errors.ts'
import { memberOf } from '../../platform/text/json-text.ts'
import type { TemplateButton, TemplateComponent } from '../../providers/provider.ts'
import { placeholdersOf } from '../template.ts'
import { FILE_FORMATS } from './header-sample.ts'

/** Provider limits, in characters unless named otherwise. */
export const TEMPLATE_LIMITS = {
  name: 512,
  body: 1_024,
  header: 60,
  footer: 60,
  buttons: 10,
  buttonText: 25,
  urlButtons: 2,
  url: 2_000,
  phoneButtons: 1,
  phone: 20,
  codeButtons: 1,
} as const

export const TEMPLATE_CATEGORIES = ['UTILITY', 'MARKETING', 'AUTHENTICATION']
export const COMPONENT_TYPES = ['HEADER', 'BODY', 'FOOTER', 'BUTTONS']
export const HEADER_FORMATS = ['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION']
export const BUTTON_TYPES = ['QUICK_REPLY', 'URL', 'PHONE_NUMBER', 'COPY_CODE', 'OTP', 'FLOW']

/** Delivery period in seconds, by category. */
export const TEMPLATE_TTL = {
  AUTHENTICATION: { shortest: 30, longest: 900 },
  UTILITY: { shortest: 30, longest: 43_200 },
  MARKETING: { shortest: 43_200, longest: 2_592_000 },
} as const

const LONGEST_MEDIA_ID = 64
const POSITIONAL_NAME = /^[0-9]+$/
const NAMED_NAME = /^[a-z0-9_]+$/

export type TemplateContents = {
  category: string
  parameterFormat: 'POSITIONAL' | 'NAMED'
  components: readonly TemplateComponent[]
  ttlSeconds?: number | undefined
}

/** Returns the faults the provider would reject, as far as its rules are documented. */
export function templateFaults({ category, parameterFormat, components, ttlSeconds }: TemplateContents): FieldFault[] {
  const faults = components.flatMap((component, place) => {
    const path = `components[${place}]`
    const isRepeated = components.findIndex(({ type }) => type === component.type) < place
    if (!COMPONENT_TYPES.includes(component.type)) return wordFaults(component.type, COMPONENT_TYPES, `${path}.type`)
    if (isRepeated) return [{ path: `${path}.type`, message: `repeats ${component.type}` }]
    return componentFaults(component, path, category, parameterFormat)
  })
  const hasBody = components.some(({ type }) => type === 'BODY')
  return [
    ...wordFaults(category, TEMPLATE_CATEGORIES, 'category'),
    ...(hasBody ? [] : [{ path: 'components', message: 'must have a BODY' }]),
    ...faults,
    ...ttlFaults(category, ttlSeconds),
  ]
}

const wordFaults = (word: string, known: readonly string[], path: string): FieldFault[] =>
  known.includes(word) ? [] : [{ path, message: `must be one of ${known.join(', ')}` }]

function ttlFaults(category: string, ttlSeconds: number | undefined): FieldFault[] {
  const [, limits] = Object.entries(TEMPLATE_TTL).find(([name]) => name === category) ?? []
  if (ttlSeconds === undefined || limits === undefined) return []
  const { shortest, longest } = limits
  const message = `must be ${shortest} to ${longest} with the category ${category}`
  return ttlSeconds >= shortest && ttlSeconds <= longest ? [] : [{ path: 'ttlSeconds', message }]
}

function componentFaults(
  component: TemplateComponent,
  path: string,
  category: string,
  format: TemplateContents['parameterFormat'],
): FieldFault[] {
  switch (component.type) {
    case 'HEADER':
      return headerFaults(component, path, format)
    case 'BODY':
      // The provider writes the text of authentication templates.
      return category === 'AUTHENTICATION' ? [] : bodyFaults(component, path, format)
    case 'FOOTER':
      return category === 'AUTHENTICATION' ? [] : footerFaults(component, path)
    default:
      return buttonFaults(component.buttons ?? [], `${path}.buttons`)
  }
}

function headerFaults(
  header: TemplateComponent,
  path: string,
  format: TemplateContents['parameterFormat'],
): FieldFault[] {
  const kind = header.format ?? ''
  if (kind !== '' && !HEADER_FORMATS.includes(kind)) return wordFaults(kind, HEADER_FORMATS, `${path}.format`)
  if (FILE_FORMATS.includes(kind)) {
    const handles = memberOf(header.example, 'header_handle')
    const hasHandle = Array.isArray(handles) && handles.length === 1
    const mediaId = memberOf(header.example, 'mediaId')
    const isId = typeof mediaId === 'string' && mediaId !== '' && mediaId.length <= LONGEST_MEDIA_ID
    if (mediaId !== undefined && (!isId || handles !== undefined))
      return [{ path: `${path}.example.mediaId`, message: 'must be the id of an uploaded file, without header_handle' }]
    const message = 'must hold one sample of the file, by its handle at the provider, or mediaId that of an upload'
    return hasHandle || isId ? [] : [{ path: `${path}.example.header_handle`, message }]
  }
  if (kind !== 'TEXT') return kind === 'LOCATION' ? [] : [{ path: `${path}.format`, message: 'is required' }]
  const text = header.text ?? ''
  const names = placeholdersOf(text, format)
  const samples = sampleCount(header, 'header_text', 'header_text_named_params', format)
  return [
    ...lengthFaults(text, `${path}.text`, TEMPLATE_LIMITS.header),
    ...(names.length > 1 ? [{ path: `${path}.text`, message: 'must have at most 1 placeholder' }] : []),
    ...nameFaults(names, `${path}.text`, format),
    ...sampleFaults(names, samples, `${path}.example`),
  ]
}

function bodyFaults(body: TemplateComponent, path: string, format: TemplateContents['parameterFormat']): FieldFault[] {
  const text = body.text ?? ''
  const names = placeholdersOf(text, format)
  const isAtEdge = /^\s*\{\{/.test(text) || /\}\}\s*$/.test(text)
  const at = `${path}.text`
  return [
    ...lengthFaults(text, at, TEMPLATE_LIMITS.body),
    ...(isAtEdge ? [{ path: at, message: 'must not begin or end with a placeholder' }] : []),
    ...(/\}\}\s*\{\{/.test(text) ? [{ path: at, message: 'must have words between two placeholders' }] : []),
    ...(/\n{3}/.test(text) ? [{ path: at, message: 'must have at most 2 line breaks in a row' }] : []),
    ...nameFaults(names, at, format),
    ...sampleFaults(names, sampleCount(body, 'body_text', 'body_text_named_params', format), `${path}.example`),
  ]
}

const footerFaults = ({ text = '' }: TemplateComponent, path: string): FieldFault[] => [
  ...lengthFaults(text, `${path}.text`, TEMPLATE_LIMITS.footer),
  ...(text.includes('{{') ? [{ path: `${path}.text`, message: 'must have no placeholder' }] : []),
]

function lengthFaults(text: string, path: string, limit: number): FieldFault[] {
  if (text.trim() === '') return [{ path, message: 'is required' }]
  return text.length > limit ? [{ path, message: `must have at most ${limit} characters` }] : []
}

/** Positional placeholders must be 1, 2, 3 …; named ones lower case. */
function nameFaults(names: readonly string[], path: string, format: TemplateContents['parameterFormat']): FieldFault[] {
  if (format === 'NAMED') {
    const wrong = names.find((name) => !NAMED_NAME.test(name) || POSITIONAL_NAME.test(name))
    const message = `has the placeholder {{${wrong}}}: names have lower-case letters, digits and underscores`
    return wrong === undefined ? [] : [{ path, message }]
  }
  const isCounted = names.every((name, place) => name === String(place + 1))
  return isCounted ? [] : [{ path, message: 'must number its placeholders {{1}}, {{2}} and so on, without a gap' }]
}

const sampleFaults = (names: readonly string[], samples: number, path: string): FieldFault[] =>
  names.length === samples
    ? []
    : [{ path, message: `must have ${names.length} samples for the placeholders, not ${samples}` }]

function sampleCount({ example }: TemplateComponent, positional: string, named: string, format: string): number {
  const value = memberOf(example, format === 'NAMED' ? named : positional)
  if (!Array.isArray(value)) return 0
  const [first] = value
  return Array.isArray(first) ? first.length : value.length
}

function buttonFaults(buttons: readonly TemplateButton[], path: string): FieldFault[] {
  const ofType = (type: string) => buttons.filter((button) => button.type === type).length
  const tooMany = (count: number, limit: number, kind: string) =>
    count > limit ? [{ path, message: `must have at most ${limit} ${kind}` }] : []
  const replies = buttons.map(({ type }) => type === 'QUICK_REPLY')
  const changes = replies.filter((isReply, place) => place > 0 && isReply !== replies[place - 1]).length
  return [
    ...(buttons.length === 0 ? [{ path, message: 'must have at least 1 button' }] : []),
    ...tooMany(ofType('URL'), TEMPLATE_LIMITS.urlButtons, 'buttons of the type URL'),
    ...tooMany(ofType('PHONE_NUMBER'), TEMPLATE_LIMITS.phoneButtons, 'button of the type PHONE_NUMBER'),
    ...tooMany(ofType('COPY_CODE'), TEMPLATE_LIMITS.codeButtons, 'button of the type COPY_CODE'),
    ...(changes > 1 ? [{ path, message: 'must group the quick replies together' }] : []),
    ...buttons.flatMap((button, place) => buttonFault(button, `${path}[${place}]`)),
  ]
}

function buttonFault(button: TemplateButton, path: string): FieldFault[] {
  const { type, text = '', url = '' } = button
  if (!BUTTON_TYPES.includes(type)) return wordFaults(type, BUTTON_TYPES, `${path}.type`)
  const ofText = ['QUICK_REPLY', 'URL', 'PHONE_NUMBER'].includes(type)
    ? lengthFaults(text, `${path}.text`, TEMPLATE_LIMITS.buttonText)
    : []
  if (type === 'URL') return [...ofText, ...urlFaults(url, button.example, path)]
  if (type !== 'PHONE_NUMBER') return ofText
  const phone = button.phone_number
  const isPhone = typeof phone === 'string' && phone !== '' && phone.length <= TEMPLATE_LIMITS.phone
  const message = `must be a phone number of at most ${TEMPLATE_LIMITS.phone} characters`
  return isPhone ? ofText : [...ofText, { path: `${path}.phone_number`, message }]
}

function urlFaults(url: string, example: unknown, path: string): FieldFault[] {
  const names = placeholdersOf(url, 'NAMED')
  const isAtEnd = names.length === 0 || (names.length === 1 && /\{\{1\}\}$/.test(url))
  const hasSample = names.length === 0 || (Array.isArray(example) && example.length === 1)
  return [
    ...lengthFaults(url, `${path}.url`, TEMPLATE_LIMITS.url),
    ...(/^https?:\/\//i.test(url) ? [] : [{ path: `${path}.url`, message: 'must be an http or https address' }]),
    ...(isAtEnd ? [] : [{ path: `${path}.url`, message: 'may have one placeholder, {{1}}, at its end' }]),
    ...(hasSample ? [] : [{ path: `${path}.example`, message: 'must hold one sample of the whole address' }]),
  ]
}
