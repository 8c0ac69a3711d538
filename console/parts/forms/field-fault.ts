import { ApiError } from '../../client.ts'
import { text } from '../../texts/text.ts'

/** Messages that the service's validator writes about its schema. All others are written for people. */
const OF_SCHEMA =
  /^(must (match|pass|NOT|be (string|number|integer|array|object|boolean|null|one of|equal|multiple|[<>]))|is (required|not known|not valid)|has none|combines)/

/** The fault that the service found in a field of a form; `expected` says what to enter. */
export function fieldFault(error: unknown, field: string, expected: string): string | undefined {
  const fault = fieldsOf(error).find(({ path }) => isPartOf(path, field))
  return fault && sentenceOf(fault.message, expected)
}

/** The faults of a request as sentences, for a place that shows none next to its fields. */
export const requestFaults = (error: ApiError): string =>
  [...new Set(error.fields.map(({ message }) => sentenceOf(message, text.faults.unexpected)))].join(' ')

/** Whether a failure is about something else than these fields. */
export const isOfOthers = (error: unknown, fields: readonly string[]): boolean =>
  !fieldsOf(error).some(({ path }) => fields.some((field) => isPartOf(path, field)))

function sentenceOf(message: string, expected: string): string {
  const [, side, limit] = /^must NOT have (more|fewer) than (\d+) characters$/.exec(message) ?? []
  if (side === 'more') return text.faults.atMost(Number(limit))
  // Fewer than one: the field is empty.
  if (side === 'fewer' && limit !== '1') return text.faults.atLeast(Number(limit))
  return OF_SCHEMA.test(message) ? expected : text.faults.sentence(message)
}

const isPartOf = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`)

const fieldsOf = (error: unknown): ApiError['fields'] => (error instanceof ApiError ? error.fields : [])
