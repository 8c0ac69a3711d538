import { type FieldFault, parameterMismatch, validationError } from '../platform/errors.ts'
import type { TemplateButton, TemplateComponent } from '../providers/provider.ts'
import { codeFaults, requireParameters } from './parameter-rules.ts'
import { fillPlaceholders, placeholdersOf, type Template } from './template.ts'

const FILLED_BY_KIND: ReadonlySet<string> = new Set(['image', 'video', 'document', 'location'])

export type ParameterInput = {
  readonly type: string
  readonly text?: string
  readonly parameter_name?: string
  readonly [member: string]: unknown
}

export type ComponentInput = {
  readonly type: 'HEADER' | 'BODY' | 'FOOTER' | 'BUTTONS'
  readonly parameters?: readonly ParameterInput[]
}

type FilledComponent = {
  type: 'header' | 'body' | 'button'
  sub_type?: string
  index?: string
  parameters?: object[]
}

/**
 * See spec: Rules for parameters, and decisions: WhatsApp send.
 * @throws {AppError} 422 `parameter_mismatch` with `{component, expected, given}`; 422 `validation_error` for a
 * repeated component or an invalid value
 */
export function fillComponents(template: Template, input: readonly ComponentInput[]): FilledComponent[] {
  refuseRepeated(input)
  requireParameters(input)
  requireLengths(template, input)
  const parametersOf = (type: ComponentInput['type']) => input.find((item) => item.type === type)?.parameters ?? []
  const footer = parametersOf('FOOTER')
  if (footer.length > 0) throw mismatch('FOOTER', 0, footer.length)
  return [
    ...fillComponent(template, 'HEADER', parametersOf('HEADER')),
    ...fillComponent(template, 'BODY', parametersOf('BODY')),
    ...fillButtons(
      template,
      parametersOf('BUTTONS'),
      input.findIndex(({ type }) => type === 'BUTTONS'),
    ),
  ]
}

/** Returns the body as shown in the conversation. */
export function renderBody(template: Template, input: readonly ComponentInput[]): string | null {
  const text = findComponent(template, 'BODY')?.text
  return text === undefined ? null : fillText(template, text, input.find((item) => item.type === 'BODY')?.parameters)
}

function fillText({ parameterFormat }: Template, text: string, parameters: readonly ParameterInput[] = []): string {
  const names = placeholdersOf(text, parameterFormat)
  const values = parameters.map(
    (parameter, index) => [parameter.parameter_name ?? names[index] ?? '', textOf(parameter)] as const,
  )
  return fillPlaceholders(text, new Map(values))
}

/** Provider limits, in characters. */
const LONGEST_FILLED = { HEADER: 60, BODY: 1_024 } as const
const LONGEST_ADDRESS = 2_000

/** The provider accepts some filled texts over the limit, and fails them later. */
function requireLengths(template: Template, input: readonly ComponentInput[]): void {
  const faults = input.flatMap(({ type, parameters = [] }, place) => {
    if (type !== 'HEADER' && type !== 'BODY') return []
    const { text = '', format = 'TEXT' } = findComponent(template, type) ?? {}
    if (type === 'HEADER' && format.toUpperCase() !== 'TEXT') return []
    const limit = LONGEST_FILLED[type]
    const length = fillText(template, text, parameters).length
    const message = `fill the template's ${type} with ${length} characters; at most ${limit} are allowed`
    return parameters.length > 0 && length > limit
      ? [{ path: `template.components[${place}].parameters`, message }]
      : []
  })
  if (faults.length > 0) throw validationError(faults)
}

function fillComponent(
  template: Template,
  type: 'HEADER' | 'BODY',
  input: readonly ParameterInput[],
): FilledComponent[] {
  const component = findComponent(template, type)
  const names = component === undefined ? [] : placeholdersOf(component.text ?? '', template.parameterFormat)
  const format = component !== undefined && isMediaHeader(component) ? component.format?.toLowerCase() : undefined
  const expected = format === undefined ? names.length : 1
  const isNamedByCaller = input.some((parameter) => parameter.parameter_name !== undefined)
  if (!isNamedByCaller && input.length !== expected) throw mismatch(type, expected, input.length)
  if (input.length === 0) return []
  const [first] = input
  if (format !== undefined && FILLED_BY_KIND.has(format) && first?.type !== format) {
    throw parameterMismatch(
      { component: type, expected: format, given: first?.type ?? '' },
      `The template's ${type} takes a parameter of the type ${format}`,
    )
  }
  const isNamedByUs = template.parameterFormat === 'NAMED' && !isNamedByCaller
  const parameters = input.map((parameter, index) =>
    isNamedByUs && parameter.type === 'text' ? { ...parameter, parameter_name: names[index] } : parameter,
  )
  return [{ type: type === 'HEADER' ? 'header' : 'body', parameters }]
}

/** Skips quick replies if only the other buttons get parameters. `at`: position of the component. */
function fillButtons(template: Template, input: readonly ParameterInput[], at: number): FilledComponent[] {
  const buttons = (findComponent(template, 'BUTTONS')?.buttons ?? []).map((button, index) => ({
    index: String(index),
    ...slotOf(button),
  }))
  const takers = buttons.filter((button) => button.subType !== undefined)
  const needers = takers.filter((button) => button.isNeeded)
  const filled = input.length === takers.length ? takers : needers
  if (input.length !== filled.length) throw mismatch('BUTTONS', needers.length, input.length)
  const faults = filled.flatMap((button, place) =>
    buttonFaults(button, input[place]?.text, `template.components[${at}].parameters[${place}].text`),
  )
  if (faults.length > 0) throw validationError(faults)
  const parameterOf = new Map(filled.map((button, place) => [button, input[place]]))
  return takers.flatMap((button): FilledComponent[] => {
    const { index, subType = 'url' } = button
    const parameter = parameterOf.get(button)
    if (parameter === undefined && !button.isOnWire) return []
    const parameters = parameter && [buttonParameter(subType, parameter)]
    return [{ type: 'button', sub_type: subType, index, ...(parameters && { parameters }) }]
  })
}

function buttonFaults({ subType, url = '' }: ButtonSlot, text: string | undefined, path: string): FieldFault[] {
  if (subType === 'copy_code') return codeFaults(text, path)
  const address = subType === 'url' ? fillPlaceholders(url, new Map([['1', text ?? '']])) : ''
  return address.length > LONGEST_ADDRESS
    ? [{ path, message: `makes an address of ${address.length} characters; at most ${LONGEST_ADDRESS} are allowed` }]
    : []
}

type ButtonSlot = {
  subType?: string
  isNeeded: boolean
  /** Must be in every send, even without a parameter. */
  isOnWire?: boolean
  url?: string | undefined
}

function slotOf(button: TemplateButton): ButtonSlot {
  switch (button.type.toUpperCase()) {
    case 'URL':
      return /\{\{/.test(button.url ?? '') ? { subType: 'url', isNeeded: true, url: button.url } : { isNeeded: false }
    case 'OTP':
      return { subType: 'url', isNeeded: true }
    case 'COPY_CODE':
      return { subType: 'copy_code', isNeeded: true }
    case 'QUICK_REPLY':
      return { subType: 'quick_reply', isNeeded: false }
    case 'FLOW':
      return { subType: 'flow', isNeeded: false, isOnWire: true }
    case 'CATALOG':
      return { subType: 'catalog', isNeeded: false }
    case 'MPM':
      return { subType: 'mpm', isNeeded: true }
    default:
      return { isNeeded: false }
  }
}

function buttonParameter(subType: string, parameter: ParameterInput): object {
  if (parameter.type !== 'text') return parameter
  if (subType === 'quick_reply') return { type: 'payload', payload: parameter.text }
  if (subType === 'copy_code') return { type: 'coupon_code', coupon_code: parameter.text }
  return { type: 'text', text: parameter.text }
}

const findComponent = (template: Template, type: string): TemplateComponent | undefined =>
  template.components.find((component) => component.type.toUpperCase() === type)

const isMediaHeader = (component: TemplateComponent): boolean =>
  component.type.toUpperCase() === 'HEADER' && (component.format ?? 'TEXT').toUpperCase() !== 'TEXT'

const textOf = (parameter: ParameterInput): string => parameter.text ?? `[${parameter.type}]`

const mismatch = (component: string, expected: number, given: number) =>
  parameterMismatch(
    { component, expected, given },
    `The template's ${component} takes ${expected} parameter${expected === 1 ? '' : 's'}, ${given} given`,
  )

function refuseRepeated(input: readonly ComponentInput[]): void {
  const faults = input.flatMap((component, index) =>
    input.findIndex((other) => other.type === component.type) < index
      ? [{ path: `template.components[${index}].type`, message: `repeats ${component.type}` }]
      : [],
  )
  if (faults.length > 0) throw validationError(faults)
}
