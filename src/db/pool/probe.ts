import { createConnection } from 'node:net'

/** Where a server is: a Unix socket, or a host and port. */
export type ServerAddress = { path: string } | { host: string; port: number }

/** Asks for TLS: PostgreSQL answers one byte before anything else, from a process that it starts for the answer. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/**
 * Whether a PostgreSQL server answers within `timeoutMs` on a new connection: a busy server does, a frozen or vanished
 * one does not. Needs no login. Never rejects.
 */
export function answersProbe(place: ServerAddress, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(place)
    const end = (answered: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answered)
    }
    const timer = setTimeout(end, timeoutMs, false)
    socket.once('data', () => end(true))
    socket.once('close', () => end(false))
    socket.on('error', () => {})
    socket.write(SSL_REQUEST)
  })
}
