const MAX_LENGTH = 500

/** Returns an error or server reply as one line without control characters, at most 500 characters. */
export const toServerMessage = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause))
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()
    .trim()
    .slice(0, MAX_LENGTH)
