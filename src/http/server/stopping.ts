import { type Server as NetServer, Server as NetServerClass } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

/** How far the stop of an HTTP server has got, as its routes and hooks see it. */
export type Stopping = {
  /** True from the first moment: each answer closes its connection, and `/readyz` says 503. */
  readonly isStopping: boolean
  /** Set while the listener closes: requests that arrive meanwhile wait for it. */
  readonly closing: Promise<void> | undefined
}

export type StoppingServer = Stopping & {
  begin(): void
  /** Closes the listener, and no connection. */
  closeListener(server: NetServer): Promise<void>
}

/** The listener closes after this long without a new connection. */
const QUIET_MS = 25
/** The longest wait for such a pause, and then for a moment in which no connection waits. */
const MAX_WAIT_MS = 1_000

/**
 * Stops a listener without failing a call. The kernel resets connections that wait to be accepted when a listener
 * closes, and clients whose connection was closed with its answer reconnect at once. Requests are therefore held
 * while the listener closes, so that no client has a reason to connect. They are answered when it is closed; new
 * connections are refused, and their clients use another process.
 */
export function createStopping(): StoppingServer {
  let isStopping = false
  let closing: Promise<void> | undefined
  return {
    get isStopping() {
      return isStopping
    },
    get closing() {
      return closing
    },
    begin: () => {
      isStopping = true
    },
    closeListener: async (server) => {
      const closed = Promise.withResolvers<void>()
      closing = closed.promise
      await noneConnects(server)
      NetServerClass.prototype.close.call(server)
      closed.resolve()
      closing = undefined
    },
  }
}

/** Waits for a moment when no connection waits to be accepted, and none is likely to come. */
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
  // Each iteration of the event loop accepts one connection: after an iteration without any, none waits.
  await untilNoneAfter(setImmediate)
  server.off('connection', count)
}
