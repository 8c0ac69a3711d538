import type { ReportedError } from '../events/event-item.ts'
import { isObject, type JsonObject, objectAt, textAt } from '../events/json-member.ts'

/** One element of the provider's `errors[]`; null when it is none. */
export function readError(error: unknown): ReportedError | null {
  if (!isObject(error)) return null
  const title = textAt(error, 'title') ?? textAt(error, 'message')
  const message = textAt(error, 'message')
  return {
    code: codeAt(error),
    title,
    details:
      textAt(objectAt(error, 'error_data'), 'details') ??
      textAt(error, 'details') ??
      (message === title ? null : message),
  }
}

/** The numeric `code` of an error; null if it has none. */
export function codeAt(object: JsonObject): number | null {
  const code = Number(textAt(object, 'code') ?? Number.NaN)
  return Number.isSafeInteger(code) ? code : null
}
