/** Builds a connection error with a code known to `isDatabaseDown`. */
export const connectionError = (code: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code })

/** Adds a code to `pg` errors without one: a lost connection or refused password. */
export function withCode(error: Error): Error {
  if ('code' in error) return error
  return connectionError(error.message.startsWith('SASL') ? '28P01' : 'CONNECTION_CLOSED', error.message, error)
}
