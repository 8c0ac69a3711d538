import { type Server as NetServer, Server as NetServerClass } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

export type Stopping = {
  /** From the start of the shutdown: responses close their connections, and `/readyz` returns 503. */
  readonly isStopping: boolean
  /** Pending while the listener closes; new requests must wait for it. */
  readonly closing: Promise<void> | undefined
}

export type StoppingServer = Stopping & {
  begin(): void
  closeListener(server: NetServer): Promise<void>
}

/** The listener closes after this long without a new connection. */
const QUIET_MS = 25
/** Maximum wait for that pause, and then for an empty accept queue. */
const MAX_WAIT_MS = 1_000

/**
 * Stops a listener without failing a call. Closing resets connections in the kernel's accept queue, and clients whose
 * connection was closed with its response reconnect at once. So requests must wait while the listener closes, which
 * gives clients no reason to connect.
 */
export function createStopping(): StoppingServer {
  const stopping: { -readonly [Member in keyof StoppingServer]: StoppingServer[Member] } = {
    isStopping: false,
    closing: undefined,
    begin: () => {
      stopping.isStopping = true
    },
    closeListener: async (server) => {
      const closed = Promise.withResolvers<void>()
      stopping.closing = closed.promise
      await noneConnects(server)
      NetServerClass.prototype.close.call(server)
      closed.resolve()
      stopping.closing = undefined
    },
  }
  return stopping
}

async function noneConnects(server: NetServer): Promise<void> {
  let accepted = 0
  const count = () => {
    accepted += 1
  }
  server.on('connection', count)
  const untilNoneAfter = async (wait: () => Promise<unknown>) => {
    const endsAtMs = performance.now() + MAX_WAIT_MS
    for (let before = -1; accepted !== before && performance.now() < endsAtMs; ) {
      before = accepted
      await wait()
    }
  }
  await untilNoneAfter(() => sleep(QUIET_MS))
  // The event loop accepts one connection per iteration: an iteration without one means an empty queue.
  await untilNoneAfter(setImmediate)
  server.off('connection', count)
}
