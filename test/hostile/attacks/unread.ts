import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tally } from '../tally.ts'
import { HANG_MS } from '../until-found.ts'

/** The slow-reader rule needs 10 s; faults show when it has not acted for so long. */
const CONTROL_MS = 15_000
const PAUSE_MS = 100

/** A connection from one of the attacker's addresses, which the service may end at any time. */
export function connectFrom(url: string, localAddress: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  socket.on('error', () => {})
  return socket
}

export const getRequest = (path: string, headers: Record<string, string> = {}): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

export const patienceMs = (isControl: boolean): number => (isControl ? CONTROL_MS : HANG_MS)

/** Sends bytes and reads nothing. */
export function askUnread(url: string, address: string, bytes: string): Socket {
  const socket = connectFrom(url, address).pause()
  socket.write(bytes)
  return socket
}

/**
 * Waits until the service has closed these connections, looking at them meanwhile. Ends those that it has not closed, and counts them.
 */
export async function untilClosed(
  sockets: readonly Socket[],
  tally: Tally,
  { name, isControl, look }: { name: string; isControl: boolean; look?: () => Promise<void> },
): Promise<void> {
  const endsAt = performance.now() + patienceMs(isControl)
  for (;;) {
    await look?.()
    // A program that reads nothing learns of the end when it writes.
    for (const socket of sockets) if (!socket.destroyed && !socket.connecting) socket.write('\r\n')
    const open = sockets.filter(({ destroyed }) => !destroyed)
    if (open.length === 0) return
    if (performance.now() > endsAt) {
      tally.add('unread answers never closed', `${open.length} of ${sockets.length} connections: ${name}`)
      for (const socket of open) socket.destroy()
      return
    }
    await sleep(PAUSE_MS)
  }
}
