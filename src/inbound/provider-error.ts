import type { ProviderError } from './inbound-item.ts'
import { isObject, type JsonObject, objectAt, textAt } from './json-member.ts'

/** One element of the provider's `errors[]`; null when it is none. */
export function readError(error: unknown): ProviderError | null {
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

/** Gupshup's own failures carry `code` and `reason` in the status itself. */
export function readFlatError(status: JsonObject): ProviderError | null {
  const code = codeAt(status)
  const title = textAt(status, 'reason')
  return code === null && title === null ? null : { code, title, details: null }
}

function codeAt(object: JsonObject): number | null {
  const code = Number(textAt(object, 'code') ?? Number.NaN)
  return Number.isSafeInteger(code) ? code : null
}
