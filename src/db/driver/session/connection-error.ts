/** An error of the connection, by whose code `isDatabaseDown` knows it. */
export const connectionError = (code: string, message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code })

/** Errors of `pg` about a lost connection or a refused password have no code: such an error gets one. */
export function withCode(error: Error): Error {
  if ('code' in error) return error
  return connectionError(error.message.startsWith('SASL') ? '28P01' : 'CONNECTION_CLOSED', error.message, error)
}
