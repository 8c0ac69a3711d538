/**
 * Something outside the program keeps it from starting. The message is for the person at the terminal: it names the
 * thing and says what to do, so the parley command prints it without a stack and ends with code 1.
 */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'StartError'
  }
}

/** The code of a system or database error (`ENOSPC`, `28P01`), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** The text of a thrown value, to be continued by another sentence. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
