import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']

/**
 * Returns unacknowledged bytes per socket, from Linux's TCP tables; undefined elsewhere. Node only sees what the kernel
 * takes, which may be nothing for a minute while a client reads 64 KiB a second.
 */
export async function readUnacknowledged(sockets: readonly Socket[]): Promise<(number | undefined)[]> {
  const places = new Map(sockets.map((socket, n) => [placeOf(socket), n]))
  const found: (number | undefined)[] = sockets.map(() => undefined)
  for (const table of TABLES) {
    for (const line of (await readFile(table, 'latin1').catch(() => '')).split('\n')) {
      // Columns: number, local and remote address, state, `tx_queue:rx_queue`.
      const [, local, remote, , queues = ''] = line.trim().split(/ +/, 5)
      const n = places.get(`${local} ${remote}`)
      if (n !== undefined) found[n] = Number.parseInt(queues, 16)
    }
  }
  return found
}

const placeOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  `${inHex(localAddress, localPort)} ${inHex(remoteAddress, remotePort)}`

/** Words are in machine byte order. */
function inHex(address = '', port = 0): string {
  if (!ipaddr.isValid(address)) return ''
  const words = Buffer.from(ipaddr.parse(address).toByteArray()).swap32()
  return `${words.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase()
}
