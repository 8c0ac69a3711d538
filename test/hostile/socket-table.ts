import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** One end of a TCP connection, as Linux lists it; `waiting`: bytes that the peer has not acknowledged, `unread`: those that its program has not read. */
export type TableSocket = { remote: string; inode: string; waiting: number; unread: number }

export type SocketTable = Map<string, TableSocket>

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']

/** All IPv4 connections of this machine, by their local and remote place. */
export async function readSockets(): Promise<SocketTable> {
  const found = new Map<string, TableSocket>()
  for (const table of TABLES) {
    for (const line of (await readFile(table, 'latin1').catch(() => '')).split('\n')) {
      const [, local = '', remote = '', , queues = '', , , , , inode = ''] = line.trim().split(/ +/, 10)
      const [waiting = 0, unread = 0] = queues.split(':').map((hex) => Number.parseInt(hex, 16))
      if (inode !== '') {
        const place = { remote: placeOf(remote), inode, waiting, unread }
        found.set(`${placeOf(local)} ${place.remote}`, place)
      }
    }
  }
  return found
}

/** The far end of a socket of this process, whose other end is on this machine, too. */
export const farEndOf = (table: SocketTable, socket: Socket): TableSocket | undefined =>
  table.get(`${socket.remoteAddress}:${socket.remotePort} ${socket.localAddress}:${socket.localPort}`)

export const nearEndOf = (table: SocketTable, socket: Socket): TableSocket | undefined =>
  table.get(`${socket.localAddress}:${socket.localPort} ${socket.remoteAddress}:${socket.remotePort}`)

/** What a process has open: paths, and `socket:[inode]`. */
export async function openFilesOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const numbers = await readdir(folder).catch(() => [])
  return Promise.all(numbers.map((number) => readlink(`${folder}/${number}`).catch(() => '')))
}

/** The connections that a process holds with one address. */
export async function countHeldWith(pid: number, address: string): Promise<number> {
  const open = new Set(await openFilesOf(pid))
  const isHeld = ({ remote, inode }: TableSocket) => remote.startsWith(`${address}:`) && open.has(`socket:[${inode}]`)
  return [...(await readSockets()).values()].filter(isHeld).length
}

/** An address of four bytes in the machine's order, last of all where it is in IPv6, and a port, both in hex. */
function placeOf(hex: string): string {
  const [address = '', port = ''] = hex.split(':')
  const bytes = Buffer.from(address.slice(-8), 'hex').reverse()
  return `${bytes.join('.')}:${Number.parseInt(port, 16)}`
}
