import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { createFairLine } from '../../fair/fair-line.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { networkOf } from '../server/request-head.ts'

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
  readonly connection: ClientConnection
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
  readOn: () => void
  /** Counts the requests on a trusted proxy's connection for their clients. */
  proxied?: { asked(request: IncomingMessage): void; idle(): void }
}

type Watcher = { opened(connection: ClientConnection): void; closed(connection: ClientConnection): void }

export type Connections = {
  readonly open: ReadonlySet<ClientConnection>
  watch(watcher: Watcher): void
  end(connection: ClientConnection): void
}

/**
 * Tracks a server's connections, and limits the unanswered requests of each. Requests begin for 2 ms per turn of the
 * event loop, client addresses round robin; pipelined ones never begin beside the request they follow. At most one
 * 64 KiB chunk per connection waits here, the rest with the client. Must be called before the server listens.
 */
export function trackConnections(server: Server | HttpsServer): Connections {
  const open = new Set<ClientConnection>()
  const bySocket = new WeakMap<Socket, ClientConnection>()
  let watcher: Watcher | undefined
  const turns = createTurns()
  const handshakes = new Map<string, ClientConnection>()
  let opened = 0

  const closed = (connection: ClientConnection): void => {
    if (!open.delete(connection)) return
    watcher?.closed(connection)
  }
  const ready = (connection: ClientConnection, socket: Socket): void => {
    connection.socket = socket
    bySocket.set(socket, connection)
    connection.readOn = readInTurns(connection, turns)
  }

  server.on('connection', (socket: Socket) => {
    const unused = { exchanges: [], latest: undefined, isKnown: false, readOn: () => {} }
    const connection: ClientConnection = { socket, number: ++opened, ...unused }
    open.add(connection)
    const peer = peerOf(socket)
    socket.once('close', () => {
      handshakes.delete(peer)
      closed(connection)
    })
    watcher?.opened(connection)
    if (socket.destroyed) return
    if (server instanceof HttpsServer) handshakes.set(peer, connection)
    else ready(connection, socket)
  })
  server.on('secureConnection', (socket: Socket) => {
    const connection = handshakes.get(peerOf(socket))
    handshakes.delete(peerOf(socket))
    if (connection === undefined || !open.has(connection)) return void socket.destroy()
    socket.once('close', () => closed(connection))
    ready(connection, socket)
  })

  const asked = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = bySocket.get(request.socket)
    if (connection !== undefined) beginExchange(connection, request, response)
  }
  // Must run before the handler, which answers many requests synchronously.
  server.prependListener('request', asked).prependListener('checkExpectation', asked)

  return {
    open,
    watch: (one) => {
      watcher = one
    },
    end: (connection) => {
      closed(connection)
      connection.socket.destroy()
    },
  }
}

export const exchangeOf = (request: IncomingMessage): OpenRequest | undefined => request[EXCHANGE]

function beginExchange(connection: ClientConnection, request: IncomingMessage, response: ServerResponse): void {
  const exchange: OpenRequest = { request, response, connection, as: undefined }
  request[EXCHANGE] = exchange
  connection.exchanges.push(exchange)
  connection.latest = request
  // Also emitted after the connection has closed.
  response.once('close', () => {
    connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1)
    connection.isKnown ||= isFromProven(exchange)
    if (connection.exchanges.length === 0) connection.proxied?.idle()
    connection.readOn()
  })
}

/** Per connection. */
export const MOST_UNANSWERED = 8
/** After this time, requests that have arrived together wait for the next turn of the event loop. */
const TURN_MS = 2

function createTurns() {
  const waiting = createFairLine<string, () => void>()
  let endsMs: number | undefined
  const runTurn = (): void => {
    const untilMs = monotonicMs() + TURN_MS
    do waiting.next()?.()
    while (waiting.size > 0 && monotonicMs() < untilMs)
    if (waiting.size > 0) setImmediate(runTurn)
  }
  return {
    hasTime: (): boolean => {
      if (waiting.size > 0) return false
      if (endsMs !== undefined) return monotonicMs() < endsMs
      endsMs = monotonicMs() + TURN_MS
      setImmediate(() => {
        endsMs = undefined
      })
      return true
    },
    add: (address: string, work: () => void): void => {
      waiting.add(address, work)
      if (waiting.size === 1) setImmediate(runTurn)
    },
  }
}

/** Keeps Node's parser from parsing all requests of a chunk at once. Returns a function to continue reading. */
function readInTurns(connection: ClientConnection, turns: ReturnType<typeof createTurns>): () => void {
  const { socket } = connection
  const address = networkOf(socket.remoteAddress)
  const cutter = createHeadCutter()
  let isScheduled = false
  const goOn = (): void => {
    if (isScheduled || !cutter.holdsBytes()) return
    isScheduled = true
    turns.add(address, () => {
      isScheduled = false
      read(true)
    })
  }
  const gate = createGate(socket, cutter.holdsBytes, goOn)
  const parse = takeFromParser(socket, (chunk) => {
    cutter.hold(chunk)
    read(false)
  })

  const isInBody = (): boolean => connection.latest?.complete === false
  const read = (isOwnTurn: boolean): void => {
    let mayBegin = isOwnTurn || (connection.exchanges.length === 0 && turns.hasTime())
    while (cutter.holdsBytes() && !socket.destroyed && gate.isOpen()) {
      const isFull = connection.exchanges.length >= MOST_UNANSWERED
      if (!isInBody() && !isFull && !mayBegin) goOn()
      if (!isInBody() && (isFull || !mayBegin)) break
      const before = connection.latest
      parse(cutter.next())
      if (connection.latest === before) continue
      mayBegin = false
      cutter.skipBody(isInBody() ? Number(connection.latest?.headers['content-length'] ?? 0) : 0)
    }
    gate.settle()
  }
  return goOn
}

function takeFromParser(socket: Socket, onData: (chunk: Buffer) => void): (piece: Buffer) => void {
  const parsers = socket.listeners('data')
  // Node removes these along with a foreign data listener, but only they can stop and start the socket handle.
  const kept = (['pause', 'resume'] as const).map((event) => ({ event, listeners: socket.listeners(event) }))
  socket.removeAllListeners('data')
  socket.on('data', onData)
  for (const { event, listeners } of kept) {
    const left = socket.listeners(event)
    for (const listener of listeners) if (!left.includes(listener)) socket.on(event, () => listener.call(socket))
  }
  return (piece) => {
    for (const parser of parsers) parser.call(socket, piece)
  }
}

/** Lets Node pause and resume the socket, but starts it only when no bytes wait. */
function createGate(socket: Socket, bytesWait: () => boolean, onResume: () => void) {
  const { pause, resume } = socket
  let isOpen = true
  let isShut = false
  socket.pause = () => {
    isOpen = false
    return pause.call(socket)
  }
  socket.resume = () => {
    isOpen = true
    if (!bytesWait()) return resume.call(socket)
    onResume()
    return socket
  }
  return {
    isOpen: () => isOpen,
    settle: () => {
      const hasToWait = bytesWait()
      if (hasToWait) pause.call(socket)
      else if (isShut && isOpen) resume.call(socket)
      isShut = hasToWait
    },
  }
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

export function createHeadCutter() {
  let held: Buffer = NOTHING
  let bodyLeft = 0
  /** Last bytes of an unfinished head, whose end may span two chunks. */
  let tail: Buffer = NOTHING

  const take = (bytes: number): Buffer => {
    const piece = held.subarray(0, bytes)
    held = held.subarray(bytes)
    return piece
  }
  const takeHead = (): Buffer => {
    const end = endOfHead(tail, held)
    const piece = take(end ?? held.length)
    tail = end === undefined ? Buffer.concat([tail, piece.subarray(-3)]).subarray(-3) : NOTHING
    return piece
  }
  return {
    hold: (chunk: Buffer): void => {
      held = held.length === 0 ? chunk : joined(held, chunk)
    },
    holdsBytes: () => held.length > 0,
    /** A head always ends its piece. */
    next: (): Buffer => {
      if (bodyLeft === 0) return takeHead()
      const piece = take(bodyLeft)
      bodyLeft -= piece.length
      return piece
    },
    /** Passes the next `bytes` through as a body, without searching for heads. */
    skipBody: (bytes: number): void => {
      bodyLeft = bytes
    },
  }
}

function endOfHead(tail: Buffer, held: Buffer): number | undefined {
  const spanning = tail.length === 0 ? -1 : Buffer.concat([tail, held.subarray(0, 3)]).indexOf(END_OF_HEAD)
  if (spanning >= 0) return spanning + END_OF_HEAD.length - tail.length
  const at = held.indexOf(END_OF_HEAD)
  return at < 0 ? undefined : at + END_OF_HEAD.length
}

/** Must not use Node's buffer pool: server.ts frees the memory of unreadable packets. */
function joined(one: Buffer, other: Buffer): Buffer {
  const both = Buffer.allocUnsafeSlow(one.length + other.length)
  one.copy(both)
  other.copy(both, one.length)
  return both
}

/** Whether a credential or a signature proves the sender. */
export function isFromProven({ as }: OpenRequest): boolean {
  if (as === undefined) return false
  const isOperator = as.routeOptions.config.surface === 'operator' && as.refusal === undefined
  return as.isProven || as.caller !== undefined || as.session !== null || isOperator
}

const peerOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`
