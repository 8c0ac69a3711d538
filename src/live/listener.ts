import { randomUUID } from 'node:crypto'
import type { Pool } from '../db/connect.ts'
import { endListening, keepListening, listen } from './live-store.ts'
import { type Changes, parseNotice } from './notice.ts'

/** How often a process publishes its id, which it expects to receive. */
const ROUND_MS = 2_000
/** Rounds without its own id after which it polls. */
const MISSED_ROUNDS = 2
/** How long the first stream waits for the subscription. */
const BEGIN_MS = 2_000
/** Each process sends its id, a UUID. */
const PROCESS_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

export type Listener = {
  /** Resolves when changes are received from now on, by notices or by polling. */
  start(): Promise<void>
  /** True while the process does not receive its own notices: the connection is lost, or a pooler does not support LISTEN. */
  readonly isDisconnected: boolean
  end(): Promise<void>
}

type ListenerEvents = {
  onChanges(changes: Changes): void
  /** Changes may have been missed. */
  onGap(): void
}

/**
 * Listens for notices between `start` and `end`, on a connection of its own. In each round the process sends its own id,
 * by which it knows that it is connected: after a lost connection, a restart of the database or a failover it listens again.
 */
export function createListener(db: Pool, { onChanges, onGap }: ListenerEvents): Listener {
  const id = randomUUID()
  let missed = 0
  let isDisconnected = true
  let timer: NodeJS.Timeout | undefined
  let session: Session | undefined
  let ended: Promise<void> = Promise.resolve()

  const onNotification = (text: string) => {
    if (!PROCESS_ID.test(text)) onChanges(parseNotice(text))
    if (text !== id || session === undefined) return
    missed = 0
    if (isDisconnected && session.isReady) onGap()
    isDisconnected = false
    session.markReady()
  }
  // After a reconnection the notices of the time between are lost.
  const connection = createSubscription(() => listen(db, onNotification, () => isDisconnected || onGap()))
  const round = async (own: Session) => {
    if (session !== own) return
    missed += 1
    if (missed > MISSED_ROUNDS) {
      isDisconnected = true
      connection.renew()
    }
    await keepListening(db, id).catch(() => {})
    if (session === own) timer = setTimeout(round, ROUND_MS, own).unref()
  }
  const start = (): Session => {
    const own = createSession()
    missed = 0
    // The previous end would delete what this begins.
    void ended.then(async () => {
      if (session === own) await connection.start()
      await round(own)
    })
    return own
  }
  return {
    get isDisconnected() {
      return isDisconnected
    },
    start: () => {
      session ??= start()
      return session.ready
    },
    end: async () => {
      if (session === undefined) return
      session.markReady()
      session = undefined
      isDisconnected = true
      clearTimeout(timer)
      ended = connection.endAfter(endListening(db, id))
      await ended
    },
  }
}

/** Behind a pooler in transaction mode no notices come: the process polls all the time, and the others need not notify it. */
export const createNoListener = (): Listener => ({ start: async () => {}, isDisconnected: true, end: async () => {} })

/** From one `start` to the next `end`. Streams rely on notices when it is ready: one that is missed from then on is a gap. */
type Session = { isReady: boolean; readonly ready: Promise<void>; markReady(): void }

function createSession(): Session {
  const { promise, resolve } = Promise.withResolvers<void>()
  const session = {
    isReady: false,
    ready: promise,
    markReady: () => {
      session.isReady = true
      resolve()
    },
  }
  setTimeout(session.markReady, BEGIN_MS).unref()
  return session
}

type Subscribed = Promise<{ unlisten(): Promise<void> }>

/** The subscription in use. One that fails is replaced by a later round. */
function createSubscription(subscribe: () => Subscribed) {
  let current: Subscribed | undefined
  const start = async (): Promise<void> => {
    current = subscribe()
    await current.catch(() => {})
  }
  const unlisten = async (former: Subscribed | undefined) => former?.then((one) => one.unlisten()).catch(() => {})
  return {
    /** Resolves when it listens, or has failed. */
    start,
    /** Starts a new subscription before it ends the former. */
    renew: (): void => {
      const former = current
      void start()
      void unlisten(former)
    },
    /** Ends the present subscription after the last statement. */
    endAfter: async (last: Promise<void>): Promise<void> => {
      const former = current
      current = undefined
      await last.catch(() => {})
      await unlisten(former)
    },
  }
}
