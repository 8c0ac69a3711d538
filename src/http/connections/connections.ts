import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Not a WeakMap: a scavenge retains the values of an old one, so each request grew old with its exchange (2.7 kB), and
 * 2,000 refused requests a second stopped the process for 24 ms every 2 s.
 */
const EXCHANGE = Symbol('exchange')
declare module 'node:http' {
  interface IncomingMessage {
    [EXCHANGE]?: OpenRequest
  }
}

type OpenRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Set by the first hook. */
  as: FastifyRequest | undefined
}

export type ClientConnection = {
  /** The raw socket until the TLS handshake ends. */
  socket: Socket
  readonly number: number
  readonly exchanges: OpenRequest[]
  latest: IncomingMessage | undefined
  isKnown: boolean
}

type Watcher = {
  opened?(connection: ClientConnection): void
  ready?(connection: ClientConnection): void
  asked?(connection: ClientConnection, exchange: OpenRequest): void
  answered?(connection: ClientConnection): void
  closed?(connection: ClientConnection): void
}

export type Connections = {
  readonly open: ReadonlySet<ClientConnection>
  watch(watcher: Watcher): void
  connectionOf(request: IncomingMessage): ClientConnection | undefined
  exchangeOf(request: IncomingMessage): OpenRequest | undefined
  end(connection: ClientConnection): void
}

/** Tracks a server's connections. Must be called before the server listens. */
export function trackConnections(server: Server | HttpsServer): Connections {
  const open = new Set<ClientConnection>()
  const bySocket = new WeakMap<Socket, ClientConnection>()
  const watchers: Watcher[] = []
  const handshakes = server instanceof HttpsServer ? new Map<string, ClientConnection>() : undefined
  let opened = 0

  const closed = (connection: ClientConnection): void => {
    if (!open.delete(connection)) return
    for (const watcher of watchers) watcher.closed?.(connection)
  }
  const ready = (connection: ClientConnection, socket: Socket): void => {
    connection.socket = socket
    bySocket.set(socket, connection)
    for (const watcher of watchers) watcher.ready?.(connection)
  }

  server.on('connection', (socket: Socket) => {
    opened += 1
    const connection: ClientConnection = { socket, number: opened, exchanges: [], latest: undefined, isKnown: false }
    open.add(connection)
    const peer = handshakes && peerOf(socket)
    socket.once('close', () => {
      if (peer !== undefined) handshakes?.delete(peer)
      closed(connection)
    })
    for (const watcher of watchers) watcher.opened?.(connection)
    if (socket.destroyed) return
    if (peer === undefined) ready(connection, socket)
    else handshakes?.set(peer, connection)
  })
  if (handshakes !== undefined) {
    server.on('secureConnection', (socket: Socket) => {
      const connection = handshakes.get(peerOf(socket))
      handshakes.delete(peerOf(socket))
      if (connection === undefined || !open.has(connection)) return void socket.destroy()
      socket.once('close', () => closed(connection))
      ready(connection, socket)
    })
  }

  const asked = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = bySocket.get(request.socket)
    if (connection === undefined) return
    const exchange: OpenRequest = { request, response, as: undefined }
    request[EXCHANGE] = exchange
    connection.exchanges.push(exchange)
    connection.latest = request
    // Also emitted after the connection has closed.
    response.once('close', () => {
      connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1)
      connection.isKnown ||= isFromProven(exchange)
      for (const watcher of watchers) watcher.answered?.(connection)
    })
    for (const watcher of watchers) watcher.asked?.(connection, exchange)
  }
  // Must run before the handler, which answers many requests synchronously.
  server.prependListener('request', asked).prependListener('checkExpectation', asked)

  return {
    open,
    watch: (watcher) => void watchers.push(watcher),
    connectionOf: (request) => bySocket.get(request.socket),
    exchangeOf: (request) => request[EXCHANGE],
    end: (connection) => {
      closed(connection)
      connection.socket.destroy()
    },
  }
}

/** Whether a credential or a signature proves the sender. */
export function isFromProven({ as }: OpenRequest): boolean {
  if (as === undefined) return false
  const isOperator = as.routeOptions.config.surface === 'operator' && as.refusal === undefined
  return as.isProven || as.caller !== undefined || as.session !== null || isOperator
}

const peerOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`
