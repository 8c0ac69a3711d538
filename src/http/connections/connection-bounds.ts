import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { monotonicMs } from '../../platform/clock.ts'
import { rateLimitExceeded } from '../../platform/errors.ts'
import { clientAddress, networkOf, type TrustedProxies } from '../server/request-head.ts'
import { createHolders } from './address-holders.ts'
import { type ClientConnection, type Connections, isFromProven } from './connections.ts'

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
 * minute. Proxied requests count for their client, and get 429 if it has too many in flight.
 */
export function boundConnections(server: Server, connections: Connections, { log, isTrusted, ...bounds }: Deps): void {
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

  const countProxied = (connection: ClientConnection): void => {
    ofProxies.add(connection)
    connection.proxied = {
      asked: (request) => {
        holders.add(clientAddress(request, isTrusted), connection)
        if (!holders.isBeyond(connection, maxOfAddress)) return
        throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many requests of your address are in flight')
      },
      idle: () => holders.remove(connection),
    }
  }

  connections.watch({
    opened: (connection) => {
      const { remoteAddress } = connection.socket
      if (isTrusted(remoteAddress)) countProxied(connection)
      else holders.add(networkOf(remoteAddress), connection)
      if (holders.isBeyond(connection, maxOfAddress)) {
        connections.end(leastOf(holders.sharing(connection), connection) ?? connection)
        warn()
      }
      if (connections.open.size > maxConnections) makeRoom(connection)
    },
    closed: (connection) => {
      ofProxies.delete(connection)
      holders.remove(connection)
    },
  })
  // Ended connections count until their sockets close.
  server.maxConnections = Math.ceil(maxConnections * 1.2)
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
