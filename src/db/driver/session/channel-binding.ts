import type { Client } from 'pg'
import { connectionError } from './connection-error.ts'

/** Whether a login is bound to the certificate of its TLS connection, by libpq's names. */
export const CHANNEL_BINDINGS = ['disable', 'prefer', 'require'] as const
export type ChannelBinding = (typeof CHANNEL_BINDINGS)[number]

const BOUND_MECHANISM = 'SCRAM-SHA-256-PLUS'

/**
 * Ends the connection unless its login is bound, which proves that the TLS connection ends at the server and not at a proxy in
 * between. A server that asks for the password in another way is refused before the password is sent. `pg` itself takes what
 * the server offers.
 */
export function requireChannelBinding({ connection }: Client): void {
  let isBound = false
  const refuse = () => {
    const message = 'The server offers no login that is bound to the TLS connection'
    // The attempt to connect fails at once: the server's answer may go on in the bytes that are read.
    connection.emit('error', connectionError('CHANNEL_BINDING_NOT_SUPPORTED', message))
    connection.stream.destroy()
  }
  // Before the listeners of `pg`, which send the password: what is written to a destroyed stream is dropped.
  connection.prependListener('authenticationCleartextPassword', refuse)
  connection.prependListener('authenticationMD5Password', refuse)
  connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    if (!mechanisms.includes(BOUND_MECHANISM)) refuse()
  })
  // After the listener of `pg`, which checks the signature of the server.
  connection.on('authenticationSASLFinal', () => {
    isBound = true
  })
  connection.on('authenticationOk', () => {
    if (!isBound) refuse()
  })
}
