import type { Template, TemplateSlots } from '../../world/template.ts'
import type { Refusal } from '../graph-error.ts'
import type { SendComponent, SendParameter } from '../send-shape.ts'

/** Why the provider would not fill this template with these components, or undefined when it would. */
export function checkTemplate(template: Template, components: SendComponent[]): Refusal | undefined {
  return (
    checkStatus(template) ??
    checkHeader(template.slots, parametersOf(components, 'header')) ??
    checkBody(template.slots, parametersOf(components, 'body')) ??
    checkButtons(
      template.slots,
      components.filter(({ type }) => type === 'button'),
    )
  )
}

const parametersOf = (components: SendComponent[], type: string): SendParameter[] =>
  components.find((component) => component.type === type)?.parameters ?? []

function checkStatus({ record }: Template): Refusal | undefined {
  switch (record.status) {
    case 'APPROVED':
      return undefined
    case 'PAUSED':
      return { code: 132015, details: `Template (${record.name}) is paused due to low quality` }
    case 'DISABLED':
      return { code: 132016, details: `Template (${record.name}) is disabled` }
    default:
      return { code: 132001, details: `template name (${record.name}) is not approved in ${record.language}` }
  }
}

function checkHeader({ header, named }: TemplateSlots, parameters: SendParameter[]): Refusal | undefined {
  if (header.kind === 'text' || header.kind === 'none') {
    return checkTexts('header', header.placeholders, parameters, named)
  }
  if (parameters.length !== 1) return wrongCount('header', parameters.length, 1)
  const received = parameters[0]?.type ?? ''
  if (received === header.kind) return undefined
  return { code: 132012, details: `header: Format mismatch, expected ${header.kind}, received ${received}` }
}

function checkBody({ body, named }: TemplateSlots, parameters: SendParameter[]): Refusal | undefined {
  const refusal = checkTexts('body', body.placeholders, parameters, named)
  if (refusal !== undefined) return refusal
  if (!parameters.some(({ text }) => text !== undefined && /[\n\t]| {5}/.test(text))) return undefined
  return {
    code: 132018,
    details: 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces',
  }
}

function checkTexts(
  part: string,
  placeholders: string[],
  parameters: SendParameter[],
  named: boolean,
): Refusal | undefined {
  for (const { parameter_name: name } of parameters) {
    if (named && !name) return { code: 100, details: 'Parameter name is missing or empty' }
    if (named && name && !placeholders.includes(name)) {
      return { code: 100, details: `Parameter name (${name}) is not in the ${part} of the template` }
    }
    if (!named && name) return { code: 132012, details: `${part}: the template takes positional parameters` }
  }
  const received = named ? new Set(parameters.map((parameter) => parameter.parameter_name)).size : parameters.length
  if (received === placeholders.length && parameters.length === received) return undefined
  return wrongCount(part, parameters.length, placeholders.length)
}

function checkButtons({ buttons }: TemplateSlots, received: SendComponent[]): Refusal | undefined {
  for (const component of received) {
    const index = Number(component.index)
    const slot = buttons[index]
    const count = component.parameters?.length ?? 0
    if (slot === undefined || slot.subTypes.length === 0) return wrongCount(`button ${index}`, count, 0)
    const subType = (component.sub_type ?? '').toLowerCase()
    if (!slot.subTypes.includes(subType)) {
      return { code: 132012, details: `buttons: Button at index ${index} is no ${subType} button` }
    }
    if (slot.required && count !== 1) return wrongCount(`button ${index}`, count, 1)
  }
  const missing = buttons.findIndex(
    ({ required }, index) => required && !received.some((component) => Number(component.index) === index),
  )
  return missing === -1 ? undefined : wrongCount(`button ${missing}`, 0, 1)
}

const wrongCount = (part: string, received: number, expected: number): Refusal => ({
  code: 132000,
  details: `${part}: number of localizable_params (${received}) does not match the expected number of params (${expected})`,
})
