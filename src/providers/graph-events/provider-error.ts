import type { ReportedError } from '../events/event-item.ts'
import { isObject, type JsonObject, objectAt, textAt } from '../events/json-member.ts'

/** Reads an element of `errors[]`. */
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

/** Returns the numeric `code`, or null. */
export function codeAt(object: JsonObject): number | null {
  const code = Number(textAt(object, 'code') ?? Number.NaN)
  return Number.isSafeInteger(code) ? code : null
}
