import type { IncomingMessage } from 'node:http'
import { slowBody } from '../../platform/errors.ts'
import type { ClientConnection, Connections } from './connections.ts'

export type UploadBounds = {
  /** What a client has to send of a body, measured over `windowSeconds`. */
  readonly leastBytesPerSecond: number
  readonly windowSeconds: number
  readonly tickMs: number
}

export const UPLOAD_BOUNDS: UploadBounds = { leastBytesPerSecond: 8 * 1024, windowSeconds: 10, tickMs: 1_000 }

/** The longest time that any request may take to arrive. */
export const UPLOAD_MS = 3_600_000

type Window = { readonly request: IncomingMessage; readonly bytesBefore: number; seconds: number }

/**
 * Ends uploads that stand still with 408, and connections whose client sends the rest of an answered body too slowly. Time in
 * which the service itself does not read does not count. Bodies that are read into memory have a bound of their own (body-budget.ts).
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

/** Whether the body is counted by its bytes until its request is answered. */
function isInMemory(connection: ClientConnection): boolean {
  const exchange = exchangeOf(connection)
  return exchange !== undefined && exchange.as?.routeOptions.config.streamsBody !== true
}

/** The reader of the stream answers its error; where nothing reads it, the connection ends. */
function refuse(connections: Connections, connection: ClientConnection): void {
  const exchange = exchangeOf(connection)
  const isRead = exchange !== undefined && exchange.request.listenerCount('error') > 0
  if (isRead) {
    exchange.response.setHeader('connection', 'close')
    exchange.request.emit('error', slowBody())
  } else connections.end(connection)
}
