import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { monotonicMs } from '../../clock.ts'

/** The rest of the open files is for the database, providers, receivers, mail servers and media. */
const SHARE_OF_OPEN_FILES = 0.6
const MOST_CONNECTIONS = 10_000
const WARNING_SPACING_MS = 60_000

/** Connections of clients that one process accepts, of the number of files that it may have open. */
export const connectionBound = (openFiles: number): number =>
  Math.min(MOST_CONNECTIONS, Math.max(1, Math.floor(openFiles * SHARE_OF_OPEN_FILES)))

/** The number of files that this process may have open. */
export function openFileLimit(): number {
  // Otherwise the report asks name servers for the names of peers.
  Object.assign(process.report, { excludeNetwork: true })
  // The report shows a stack, which would be read with the source maps: 27 MB.
  const error = Object.assign(new Error('open files'), { stack: '' })
  const report: { userLimits?: { open_files?: { soft: number | string } } } = process.report.getReport(error)
  const soft = Number(report.userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY
}

/** Keeps the connections of a server below the limit of open files, with a line in the log when they meet the bound. */
export function boundConnections(
  server: Server | HttpsServer,
  { log, maxConnections }: { log: Pick<Logger, 'warn'>; maxConnections?: number },
): void {
  const openFiles = openFileLimit()
  const bound = maxConnections ?? connectionBound(openFiles)
  limitConnections(server, bound, () => log.warn({ maxConnections: bound, openFiles }, 'http.connections.full'))
}

/**
 * Keeps the connections of a server below a bound. Beyond it, the oldest connection without any request ends, then the one
 * that waits longest for its next request; when all are busy, the new one. Idle connections can therefore not shut out
 * others. `onFull` is called at most once a minute.
 */
function limitConnections(server: Server | HttpsServer, bound: number, onFull: () => void): void {
  /** In the order in which they opened, and in that in which their last request ended. */
  const unused = new Set<Socket>()
  const idle = new Set<Socket>()
  let open = 0
  let nextWarningMs = Number.NEGATIVE_INFINITY

  const makeRoom = (newcomer: Socket): void => {
    const [oldestUnused] = unused
    const [longestIdle] = idle
    const ended = oldestUnused ?? longestIdle ?? newcomer
    unused.delete(ended)
    idle.delete(ended)
    ended.destroy()
    if (monotonicMs() < nextWarningMs) return
    nextWarningMs = monotonicMs() + WARNING_SPACING_MS
    onFull()
  }

  server.on(server instanceof HttpsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
      unused.delete(socket)
      idle.delete(socket)
    })
    if (open > bound) makeRoom(socket)
    if (!socket.destroyed) unused.add(socket)
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    unused.delete(socket)
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket)
    })
  })
  // Connections that have not ended their TLS handshake count here only.
  server.maxConnections = Math.ceil(bound * 1.2)
}
