import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { monotonicMs } from '../../platform/clock.ts'
import { rateLimitExceeded } from '../../platform/errors.ts'
import { clientAddress, networkOf, type TrustedProxies } from '../admission/rules.ts'
import { createHolders } from './address-holders.ts'

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
function isFromProven({ as }: OpenRequest): boolean {
  if (as === undefined) return false
  const isOperator = as.routeOptions.config.surface === 'operator' && as.refusal === undefined
  return as.isProven || as.caller !== undefined || as.session !== null || isOperator
}

const peerOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`

/** The remaining open files are for the database, providers, receivers, mail servers and media. */
const SHARE_OF_OPEN_FILES = 0.6
const MOST_CONNECTIONS = 10_000
export const SHARE_OF_ADDRESS = 1 / 4
const WARNING_SPACING_MS = 60_000
const RETRY_AFTER_SECONDS = 1

export const connectionBound = (openFiles: number): number =>
  Math.min(MOST_CONNECTIONS, Math.max(1, Math.floor(openFiles * SHARE_OF_OPEN_FILES)))

export const addressBound = (connections: number): number => Math.max(1, Math.floor(connections * SHARE_OF_ADDRESS))

export function openFileLimit(): number {
  // Without this, the report does reverse DNS lookups.
  Object.assign(process.report, { excludeNetwork: true })
  // An empty stack keeps the report from loading source maps (27 MB).
  const error = Object.assign(new Error('open files'), { stack: '' })
  const report: { userLimits?: { open_files?: { soft: number | string } } } = process.report.getReport(error)
  const soft = Number(report.userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY
}

export type ConnectionBounds = {
  maxConnections?: number
  maxOfAddress?: number
}

type Deps = { log: Pick<Logger, 'warn'>; isTrusted: TrustedProxies } & ConnectionBounds

/**
 * Keeps connections below the open-file limit, and each client address below a quarter of them. Above its quarter, an
 * address loses an unproven connection (`leastOf`); above the limit, the largest address does. Logs at most one line a
 * minute. Returns a check for proxied requests, which count for their client: throws 429 if there are too many in
 * flight.
 */
export function boundConnections(
  server: Server,
  connections: Connections,
  { log, isTrusted, ...bounds }: Deps,
): (request: IncomingMessage) => void {
  const openFiles = openFileLimit()
  const maxConnections = bounds.maxConnections ?? connectionBound(openFiles)
  const maxOfAddress = bounds.maxOfAddress ?? addressBound(maxConnections)
  const holders = createHolders<ClientConnection>()
  const ofProxies = new Set<ClientConnection>()
  let nextWarningMs = Number.NEGATIVE_INFINITY

  const makeRoom = (newcomer: ClientConnection): void => {
    const [ended] = candidates(newcomer)
    connections.end(ended ?? newcomer)
    warn()
  }
  const warn = (): void => {
    if (monotonicMs() < nextWarningMs) return
    nextWarningMs = monotonicMs() + WARNING_SPACING_MS
    log.warn({ maxConnections, maxOfAddress, openFiles }, 'http.connections.full')
  }
  function* candidates(newcomer: ClientConnection): Generator<ClientConnection> {
    for (const held of holders.byMost()) {
      const least = leastOf(held, newcomer)
      if (least !== undefined) yield least
    }
    yield leastOf(ofProxies, newcomer) ?? newcomer
  }

  connections.watch({
    opened: (connection) => {
      const { remoteAddress } = connection.socket
      if (isTrusted(remoteAddress)) ofProxies.add(connection)
      else holders.add(networkOf(remoteAddress), connection)
      if (holders.isBeyond(connection, maxOfAddress)) {
        connections.end(leastOf(holders.sharing(connection), connection) ?? connection)
        warn()
      }
      if (connections.open.size > maxConnections) makeRoom(connection)
    },
    asked: (connection, { request }) => {
      if (ofProxies.has(connection)) holders.add(clientAddress(request, isTrusted), connection)
    },
    answered: (connection) => {
      if (ofProxies.has(connection) && connection.exchanges.length === 0) holders.remove(connection)
    },
    closed: (connection) => {
      ofProxies.delete(connection)
      holders.remove(connection)
    },
  })
  // Ended connections count until their sockets close.
  server.maxConnections = Math.ceil(maxConnections * 1.2)

  return (request) => {
    const connection = connections.connectionOf(request)
    if (connection === undefined || !ofProxies.has(connection)) return
    if (!holders.isBeyond(connection, maxOfAddress)) return
    throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many requests of your address are in flight')
  }
}

/**
 * Chooses the oldest connection without any request, else without a proven one, else idle, else the newcomer. Must
 * never end a connection serving a proven request.
 */
function leastOf(held: ReadonlySet<ClientConnection>, newcomer: ClientConnection): ClientConnection | undefined {
  let least: ClientConnection | undefined
  for (const connection of held) {
    if (connection.exchanges.some(isFromProven)) continue
    if (least === undefined || compare(connection, least) < 0) least = connection
  }
  return least

  function compare(one: ClientConnection, other: ClientConnection): number {
    return rankOf(one) - rankOf(other) || one.number - other.number
  }
  function rankOf(connection: ClientConnection): number {
    if (connection === newcomer) return 3
    if (connection.latest === undefined) return 0
    return connection.isKnown ? 2 : 1
  }
}
