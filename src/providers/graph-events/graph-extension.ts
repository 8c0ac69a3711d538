import type { ReportedError } from '../events/event-item.ts'
import type { JsonObject } from '../events/json-member.ts'

/** Additions by a provider that forwards Meta's events. Functions return null without one. */
export type GraphExtension = {
  appNames: readonly string[]
  appIdOf(body: JsonObject): string | null
  messageIdOf(status: JsonObject): string | null
  errorOf(status: JsonObject): ReportedError | null
}

/** Returns the first non-null result. */
export function firstOf<Value>(
  extensions: readonly GraphExtension[],
  read: (extension: GraphExtension) => Value | null,
): Value | null {
  for (const extension of extensions) {
    const value = read(extension)
    if (value !== null) return value
  }
  return null
}
