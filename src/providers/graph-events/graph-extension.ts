import type { ReportedError } from '../events/event-item.ts'
import type { JsonObject } from '../events/json-member.ts'

/** Additions of a provider that passes Meta's events on. Each function returns null for events without the addition. */
export type GraphExtension = {
  /** The members of a body that may name its app, in bodies of this provider's own formats, too. */
  appNames: readonly string[]
  /** The app that a body is about. Throws BeyondBounds. */
  appIdOf(body: JsonObject): string | null
  /** The provider's own id of a status's message. Throws BeyondBounds. */
  messageIdOf(status: JsonObject): string | null
  /** The reason of a failure that has no `errors[]`. */
  errorOf(status: JsonObject): ReportedError | null
}

/** The first answer that is not null. */
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
