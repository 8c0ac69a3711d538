import type { Socket } from 'node:net'
import { createFairLine } from '../../fair/fair-line.ts'
import { monotonicMs } from '../../platform/clock.ts'
import { networkOf } from '../admission/rules.ts'
import type { ClientConnection, Connections } from './connections.ts'

export const MOST_UNANSWERED = 8

/** After this time, requests that have arrived together wait for the next turn of the event loop. */
const TURN_MS = 2

/**
 * Limits unanswered requests per connection to `most`. Requests begin for 2 ms per turn of the event loop, client
 * addresses round robin; pipelined ones never begin beside the request they follow. At most one 64 KiB chunk per
 * connection waits here, the rest with the client.
 */
export function boundPipelining(connections: Connections, most = MOST_UNANSWERED): void {
  const readers = new WeakMap<ClientConnection, () => void>()
  const turns = createTurns()
  connections.watch({
    ready: (connection) => {
      const address = networkOf(connection.socket.remoteAddress)
      const later = (read: () => void) => turns.add(address, read)
      readers.set(connection, readInTurns(connection, most, { hasTime: turns.hasTime, later }))
    },
    answered: (connection) => readers.get(connection)?.(),
  })
}

type Turns = { hasTime(): boolean; later(read: () => void): void }

function createTurns(): { hasTime: Turns['hasTime']; add(address: string, work: () => void): void } {
  const waiting = createFairLine<string, () => void>()
  let endsMs: number | undefined
  const endTurn = (): void => {
    endsMs = undefined
  }
  const runTurn = (): void => {
    const untilMs = monotonicMs() + TURN_MS
    do waiting.next()?.()
    while (waiting.size > 0 && monotonicMs() < untilMs)
    if (waiting.size > 0) setImmediate(runTurn)
  }
  return {
    hasTime: () => {
      if (waiting.size > 0) return false
      if (endsMs !== undefined) return monotonicMs() < endsMs
      endsMs = monotonicMs() + TURN_MS
      setImmediate(endTurn)
      return true
    },
    add: (address, work) => {
      waiting.add(address, work)
      if (waiting.size === 1) setImmediate(runTurn)
    },
  }
}

/** Keeps Node's parser from parsing all requests of a chunk at once. Returns a function to continue reading. */
function readInTurns(connection: ClientConnection, most: number, { hasTime, later }: Turns): () => void {
  const { socket } = connection
  const cutter = createHeadCutter()
  let isScheduled = false
  const goOn = (): void => {
    if (isScheduled || !cutter.holdsBytes()) return
    isScheduled = true
    later(() => {
      isScheduled = false
      read({ isOwnTurn: true })
    })
  }
  const gate = createGate(socket, cutter.holdsBytes, goOn)
  const parse = takeFromParser(socket, (chunk) => {
    cutter.hold(chunk)
    read({ isOwnTurn: false })
  })

  const isInBody = (): boolean => connection.latest?.complete === false
  const read = ({ isOwnTurn }: { isOwnTurn: boolean }): void => {
    let mayBegin = isOwnTurn || (connection.exchanges.length === 0 && hasTime())
    while (cutter.holdsBytes() && !socket.destroyed && gate.isOpen()) {
      if (!isInBody() && connection.exchanges.length >= most) break
      if (!isInBody() && !mayBegin) {
        goOn()
        break
      }
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

type HeadCutter = {
  hold(chunk: Buffer): void
  holdsBytes(): boolean
  /** A head always ends its piece. */
  next(): Buffer
  /** Passes the next `bytes` through as a body, without searching for heads. */
  skipBody(bytes: number): void
}

export function createHeadCutter(): HeadCutter {
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
    hold: (chunk) => {
      held = held.length === 0 ? chunk : joined(held, chunk)
    },
    holdsBytes: () => held.length > 0,
    next: () => {
      if (bodyLeft === 0) return takeHead()
      const piece = take(bodyLeft)
      bodyLeft -= piece.length
      return piece
    },
    skipBody: (bytes) => {
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
