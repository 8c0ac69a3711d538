const MAX_LENGTH = 500

/** The text of a server or of an error on one line, at most 500 characters: safe to be stored and shown. */
export const toServerMessage = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause))
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()
    .trim()
    .slice(0, MAX_LENGTH)
