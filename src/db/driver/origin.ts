import { DatabaseError } from 'pg'

/** Where the template of a statement is written: the stack of an error that came from a socket does not say it. */
const origins = new WeakMap<readonly string[], Error>()

export function noteOrigin(strings: readonly string[]): void {
  if (!origins.has(strings)) origins.set(strings, new Error('written'))
}

/** Adds to the stack of a database's error where its statement is written. */
export function addOrigin(error: Error, strings: readonly string[]): Error {
  const frames = origins.get(strings)?.stack?.split('\n').slice(3)
  if (error instanceof DatabaseError && frames !== undefined) error.stack = [`${error.message}`, ...frames].join('\n')
  return error
}
