import type { Server } from 'node:net'
import { networkOf } from '../../http/admission/client-address.ts'

const CHECK_MS = 1_000

type SocketBounds = {
  readonly connectionsOfAddress: number
  readonly sessionMs: number
  readonly sessionBytes: number
}

/** Ends connections over their time or byte limit; `isFull` checks the limit per address. */
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
