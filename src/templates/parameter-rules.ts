import { type FieldFault, parameterMismatch, validationError } from '../platform/errors.ts'
import { closestName, unknownName } from '../platform/text/closest-name.ts'
import { memberOf } from '../platform/text/json-text.ts'

type Parameter = { readonly type: string; readonly text?: string; readonly [member: string]: unknown }
type Component = { readonly type: string; readonly parameters?: readonly Parameter[] }

/** Provider limits, in characters. */
const LONGEST_FILENAME = 240
const LONGEST_CODE = 20
const FILES = ['image', 'video', 'document']
/** Refused by the provider in a body. */
const LAYOUT = /[\n\r\t]| {5}/

/** @throws {AppError} 422 `parameter_mismatch` for text layout, `validation_error` for incomplete media */
export function requireParameters(input: readonly Component[]): void {
  for (const [place, { type, parameters = [] }] of input.entries()) {
    const path = `template.components[${place}].parameters`
    const laidOut = type === 'BODY' ? parameters.findIndex(({ text = '' }) => LAYOUT.test(text)) : -1
    if (laidOut !== -1) {
      const rule = 'must have no line break, no tab and at most 4 spaces in a row'
      throw parameterMismatch(
        { component: type, path: `${path}[${laidOut}].text` },
        `A text of the template's BODY ${rule}`,
      )
    }
    const faults = parameters.flatMap((parameter, index) => valueFaults(parameter, `${path}[${index}]`))
    if (faults.length > 0) throw validationError(faults)
  }
}

function valueFaults(parameter: Parameter, path: string): FieldFault[] {
  const { type } = parameter
  const misspelt = nameFaults(parameter, path)
  if (misspelt.length > 0) return misspelt
  if (type === 'location') return locationFaults(parameter.location, `${path}.location`)
  if (type === 'coupon_code') return codeFaults(parameter.coupon_code, `${path}.coupon_code`)
  return FILES.includes(type) ? fileFaults(memberOf(parameter, type), `${path}.${type}`) : []
}

const KNOWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['type', 'text', 'parameter_name', 'image', 'video', 'document', 'location', 'currency', 'date_time'],
    ...[
      'payload',
      'coupon_code',
      'action',
      'limited_time_offer',
      'order_status',
      'product',
      'tap_target_configuration',
    ],
  ],
  image: ['id', 'link', 'mediaId'],
  video: ['id', 'link', 'mediaId'],
  document: ['id', 'link', 'mediaId', 'filename'],
  location: ['latitude', 'longitude', 'name', 'address'],
  currency: ['fallback_value', 'code', 'amount_1000'],
  date_time: ['fallback_value', 'day_of_week', 'day_of_month', 'year', 'month', 'hour', 'minute', 'calendar'],
  limited_time_offer: ['expiration_time_ms'],
}

/** Finds misspelt members, which the provider would ignore and then fill another placeholder. */
function nameFaults(parameter: Parameter, path: string): FieldFault[] {
  return Object.entries(KNOWN_NAMES).flatMap(([member, known]) => {
    const object = member === '' ? parameter : parameter[member]
    if (typeof object !== 'object' || object === null) return []
    const at = member === '' ? path : `${path}.${member}`
    return Object.keys(object)
      .filter((name) => !known.includes(name) && closestName(name, known) !== undefined)
      .map((name) => ({ path: `${at}.${name}`, message: unknownName(name, known) }))
  })
}

function fileFaults(file: unknown, path: string): FieldFault[] {
  const sources = ['id', 'link'].filter((member) => memberOf(file, member) !== undefined)
  const filename = memberOf(file, 'filename')
  return [
    ...(sources.length === 1 ? [] : [{ path, message: 'must hold exactly one of mediaId, link and id' }]),
    ...(typeof filename === 'string' && filename.length > LONGEST_FILENAME
      ? [{ path: `${path}.filename`, message: `must have at most ${LONGEST_FILENAME} characters` }]
      : []),
  ]
}

const locationFaults = (location: unknown, path: string): FieldFault[] =>
  (
    [
      ['latitude', 90],
      ['longitude', 180],
    ] as const
  ).flatMap(([member, limit]) => {
    const degrees = Number(memberOf(location, member) ?? Number.NaN)
    return Math.abs(degrees) <= limit ? [] : [{ path: `${path}.${member}`, message: `must be -${limit} to ${limit}` }]
  })

export const codeFaults = (code: unknown, path: string): FieldFault[] =>
  typeof code === 'string' && code.length > LONGEST_CODE
    ? [{ path, message: `must have at most ${LONGEST_CODE} characters` }]
    : []
