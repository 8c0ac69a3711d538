import { DatabaseError } from 'pg'

/** Socket errors have no useful stack. */
const origins = new WeakMap<readonly string[], Error>()

export function noteOrigin(strings: readonly string[]): void {
  if (!origins.has(strings)) origins.set(strings, new Error('written'))
}

/** Appends the statement's source position to a database error's stack. */
export function addOrigin(error: Error, strings: readonly string[]): Error {
  const frames = origins.get(strings)?.stack?.split('\n').slice(3)
  if (error instanceof DatabaseError && frames !== undefined) error.stack = [`${error.message}`, ...frames].join('\n')
  return error
}
