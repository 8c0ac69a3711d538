import type { Client } from 'pg'
import { connectionError } from './connection-error.ts'

export const CHANNEL_BINDINGS = ['disable', 'prefer', 'require'] as const
export type ChannelBinding = (typeof CHANNEL_BINDINGS)[number]

const BOUND_MECHANISM = 'SCRAM-SHA-256-PLUS'

/**
 * Ends an unbound connection, before sending a password: TLS might end at a proxy. `pg` accepts whatever is offered.
 */
export function requireChannelBinding({ connection }: Client): void {
  let isBound = false
  const refuse = () => {
    const message = 'The server offers no login that is bound to the TLS connection'
    connection.emit('error', connectionError('CHANNEL_BINDING_NOT_SUPPORTED', message))
    connection.stream.destroy()
  }
  // Must run before `pg`'s listeners, which send the password: writes to a destroyed stream are dropped.
  connection.prependListener('authenticationCleartextPassword', refuse)
  connection.prependListener('authenticationMD5Password', refuse)
  connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    if (!mechanisms.includes(BOUND_MECHANISM)) refuse()
  })
  // Must run after `pg`'s listener, which checks the server signature.
  connection.on('authenticationSASLFinal', () => {
    isBound = true
  })
  connection.on('authenticationOk', () => {
    if (!isBound) refuse()
  })
}
