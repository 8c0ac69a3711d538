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
  /** Streams count on hearing: whatever is missed from now on is a gap. */
  let isReady = false
  let timer: NodeJS.Timeout | undefined
  let begun: Promise<void> | undefined
  let heardFirst = () => {}
  let subscription: Promise<{ unlisten(): Promise<void> }> | undefined

  const hear = (text: string) => {
    if (text !== id) {
      // Ids of other processes are no JSON objects.
      const changes = text.startsWith('{') || text === '"all"' ? parseNotice(text) : undefined
      if (changes !== undefined) onChanges(changes)
      return
    }
    missed = 0
    if (isDeaf && isReady) onGap()
    isDeaf = false
    heardFirst()
  }
  const subscribe = () => {
    subscription = listen(db, hear, () => {
      if (!isDeaf) onGap()
    })
    subscription.catch(() => {})
  }
  const round = async () => {
    missed += 1
    if (missed > MISSED_ROUNDS) {
      isDeaf = true
      const former = subscription
      subscribe()
      former?.then((one) => one.unlisten()).catch(() => {})
    }
    await keepListening(db, id).catch(() => {})
    if (begun !== undefined) timer = setTimeout(round, ROUND_MS).unref()
  }
  return {
    get isDeaf() {
      return isDeaf
    },
    begin: () => {
      begun ??= new Promise((resolve) => {
        heardFirst = () => {
          isReady = true
          resolve()
        }
        setTimeout(() => heardFirst(), BEGIN_MS).unref()
        missed = 0
        subscribe()
        subscription?.then(round, round)
      })
      return begun
    },
    end: async () => {
      if (begun === undefined) return
      begun = undefined
      isDeaf = true
      isReady = false
      clearTimeout(timer)
      const former = subscription
      subscription = undefined
      await endListening(db, id).catch(() => {})
      former?.then((one) => one.unlisten()).catch(() => {})
    },
  }
}
