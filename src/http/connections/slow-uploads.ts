import type { IncomingMessage } from 'node:http'
import { slowBody } from '../../platform/errors.ts'
import type { ClientConnection, Connections } from './connections.ts'

export type UploadBounds = {
  readonly leastBytesPerSecond: number
  readonly windowSeconds: number
  readonly tickMs: number
}

export const UPLOAD_BOUNDS: UploadBounds = { leastBytesPerSecond: 8 * 1024, windowSeconds: 10, tickMs: 1_000 }

export const UPLOAD_MS = 3_600_000

type Window = { readonly request: IncomingMessage; readonly bytesBefore: number; seconds: number }

/**
 * Ends stalled uploads with 408, and connections too slow with the rest of an answered body. Pauses by the service
 * itself are not counted. Bodies read into memory have their own limit (body-budget.ts).
 */
export function endSlowUploads(connections: Connections, bounds: Partial<UploadBounds> = {}): { stop(): void } {
  const { leastBytesPerSecond, windowSeconds, tickMs } = { ...UPLOAD_BOUNDS, ...bounds }
  const windows = new WeakMap<ClientConnection, Window>()
  const look = (connection: ClientConnection): void => {
    const { socket, latest: request } = connection
    if (request === undefined || request.complete || isInMemory(connection)) return
    const window = windows.get(connection)
    const begin = () => windows.set(connection, { request, bytesBefore: socket.bytesRead, seconds: 0 })
    if (window?.request !== request || socket.isPaused()) return void begin()
    window.seconds += 1
    if (window.seconds < windowSeconds) return
    if (socket.bytesRead - window.bytesBefore < leastBytesPerSecond * windowSeconds) refuse(connections, connection)
    else begin()
  }
  const timer = setInterval(() => {
    for (const connection of connections.open) look(connection)
  }, tickMs).unref()
  return { stop: () => clearInterval(timer) }
}

const exchangeOf = ({ exchanges, latest }: ClientConnection) => exchanges.find(({ request }) => request === latest)

function isInMemory(connection: ClientConnection): boolean {
  const exchange = exchangeOf(connection)
  return exchange !== undefined && exchange.as?.routeOptions.config.streamsBody !== true
}

/** The stream's reader answers the error; without a reader, close the connection. */
function refuse(connections: Connections, connection: ClientConnection): void {
  const exchange = exchangeOf(connection)
  const isRead = exchange !== undefined && exchange.request.listenerCount('error') > 0
  if (isRead) {
    exchange.response.setHeader('connection', 'close')
    exchange.request.emit('error', slowBody())
  } else connections.end(connection)
}
