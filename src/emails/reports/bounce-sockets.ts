import type { Server } from 'node:net'
import { networkOf } from '../../http/admission/client-address.ts'

/** How often the bytes of a connection are compared with their bound. */
const CHECK_MS = 1_000

export type SocketBounds = {
  readonly connectionsOfAddress: number
  readonly sessionMs: number
  readonly sessionBytes: number
}

/**
 * Ends the connections of a server that last too long or have sent too much, and counts them by address. `isFull` says whether
 * an address has more of them than it may.
 */
export function boundSockets(server: Server, bounds: SocketBounds): { isFull(address: string): boolean } {
  const counts = new Map<string, number>()
  server.on('connection', (socket) => {
    const network = networkOf(socket.remoteAddress)
    counts.set(network, (counts.get(network) ?? 0) + 1)
    const timers = [
      setTimeout(() => socket.destroy(), bounds.sessionMs),
      setInterval(() => {
        if (socket.bytesRead > bounds.sessionBytes) socket.destroy()
      }, CHECK_MS),
    ]
    socket.once('close', () => {
      for (const timer of timers) clearTimeout(timer)
      const count = (counts.get(network) ?? 0) - 1
      if (count > 0) counts.set(network, count)
      else counts.delete(network)
    })
  })
  return { isFull: (address) => (counts.get(networkOf(address)) ?? 0) > bounds.connectionsOfAddress }
}
