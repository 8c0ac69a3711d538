import { randomUUID } from 'node:crypto'
import type { Pool } from '../db/connect.ts'
import { endListening, keepListening, listen } from './live-store.ts'
import { type Changes, parseNotice } from './notice.ts'

/** How often a process says that it listens, and expects to hear itself. */
const ROUND_MS = 2_000
/** Rounds without hearing itself after which it polls. */
const MISSED_ROUNDS = 2
/** How long the first stream waits for listening to begin. */
const BEGIN_MS = 2_000
/** Each process sends its id, a UUID. */
const PROCESS_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

export type Listener = {
  /** Resolves when changes are heard from now on, by notices or by polling. */
  begin(): Promise<void>
  /** True while the process does not hear its own notices: a pooler may not support LISTEN, or the connection is lost. */
  readonly isDeaf: boolean
  end(): Promise<void>
}

type Heard = {
  onChanges(changes: Changes): void
  /** Changes may have been missed. */
  onGap(): void
}

/**
 * Listens for notices while it is begun, on a connection of its own. In each round the process sends its own id, by which it
 * knows that it still hears: after a lost connection, a restart of the database or a failover it listens again.
 */
export function createListener(db: Pool, { onChanges, onGap }: Heard): Listener {
  const id = randomUUID()
  let missed = 0
  let isDeaf = true
  let timer: NodeJS.Timeout | undefined
  let begun: Begun | undefined
  let ended: Promise<void> = Promise.resolve()

  const hear = (text: string) => {
    if (!PROCESS_ID.test(text)) onChanges(parseNotice(text))
    if (text !== id || begun === undefined) return
    missed = 0
    if (isDeaf && begun.isReady) onGap()
    isDeaf = false
    begun.beReady()
  }
  // After a reconnection the notices of the time between are lost.
  const connection = createSubscription(() => listen(db, hear, () => isDeaf || onGap()))
  const round = async (mine: Begun) => {
    if (begun !== mine) return
    missed += 1
    if (missed > MISSED_ROUNDS) {
      isDeaf = true
      connection.renew()
    }
    await keepListening(db, id).catch(() => {})
    if (begun === mine) timer = setTimeout(round, ROUND_MS, mine).unref()
  }
  const start = (): Begun => {
    const mine = createBegun()
    missed = 0
    // The end before would delete what this begins.
    void ended.then(async () => {
      if (begun === mine) await connection.begin()
      await round(mine)
    })
    return mine
  }
  return {
    get isDeaf() {
      return isDeaf
    },
    begin: () => {
      begun ??= start()
      return begun.ready
    },
    end: async () => {
      if (begun === undefined) return
      begun.beReady()
      begun = undefined
      isDeaf = true
      clearTimeout(timer)
      ended = connection.endAfter(endListening(db, id))
      await ended
    },
  }
}

/** From one `begin` to the next `end`. Streams rely on notices when it is ready: one that is missed from then on is a gap. */
type Begun = { isReady: boolean; readonly ready: Promise<void>; beReady(): void }

function createBegun(): Begun {
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = {
    isReady: false,
    ready: promise,
    beReady: () => {
      begun.isReady = true
      resolve()
    },
  }
  setTimeout(begun.beReady, BEGIN_MS).unref()
  return begun
}

type Subscribed = Promise<{ unlisten(): Promise<void> }>

/** The subscription in use. One that fails is replaced by a later round. */
function createSubscription(subscribe: () => Subscribed) {
  let current: Subscribed | undefined
  const begin = async (): Promise<void> => {
    current = subscribe()
    await current.catch(() => {})
  }
  const unlisten = async (former: Subscribed | undefined) => former?.then((one) => one.unlisten()).catch(() => {})
  return {
    /** Resolves when it listens, or has failed. */
    begin,
    /** Begins a new subscription before it ends the former. */
    renew: (): void => {
      const former = current
      void begin()
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
