import { randomUUID } from 'node:crypto'
import type { Db, Pool } from '../db/connect.ts'
import { type Changes, LIVE_CHANNEL, parseNotice } from './notice.ts'

/** Heartbeat interval: each process publishes its id and expects to receive it. */
const ROUND_MS = 2_000
const MISSED_ROUNDS = 2
const BEGIN_MS = 2_000
/** A vanished process counts as listening for this time. */
const LISTENING_SECONDS = 10
const OLD_HOURS = 1
const PROCESS_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

export type Listener = {
  start(): Promise<void>
  /** True until the process receives its own heartbeat: the connection is lost, or a pooler doesn't support LISTEN. */
  readonly isDisconnected: boolean
  end(): Promise<void>
}

type ListenerEvents = {
  onChanges(changes: Changes): void
  /** Changes may have been missed. */
  onGap(): void
}

/** Listens on a dedicated connection; subscribes again when heartbeats reveal a lost connection, a restart or a failover. */
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
  // Notices sent before a reconnection are lost.
  const connection = createSubscription(() => db.listen(LIVE_CHANNEL, onNotification, () => isDisconnected || onGap()))
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
    // Must wait for the previous `end`, which would delete the new listener row.
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
      ended = connection.endAfter(db`delete from live_listeners where id = ${id}`)
      await ended
    },
  }
}

/** For a pooler in transaction mode, which delivers no notices: always polls, and needs no notices from others. */
export const createNoListener = (): Listener => ({ start: async () => {}, isDisconnected: true, end: async () => {} })

/** Spans one `start` to the next `end`. Once ready, streams rely on notices, so that a missed one is a gap. */
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

function createSubscription(subscribe: () => Subscribed) {
  let current: Subscribed | undefined
  const start = async (): Promise<void> => {
    current = subscribe()
    await current.catch(() => {})
  }
  const unlisten = async (former: Subscribed | undefined) => former?.then((one) => one.unlisten()).catch(() => {})
  return {
    start,
    renew: (): void => {
      const former = current
      void start()
      void unlisten(former)
    },
    endAfter: async (last: Promise<unknown>): Promise<void> => {
      const former = current
      current = undefined
      await last.catch(() => {})
      await unlisten(former)
    },
  }
}

/** Renews the listener row and sends the heartbeat to all listeners, including this process. */
async function keepListening(db: Db, id: string): Promise<void> {
  await db`
    with inserted as (
      insert into live_listeners (id, listens_until)
      values (${id}, now() + make_interval(secs => ${LISTENING_SECONDS}))
      on conflict (id) do update set listens_until = excluded.listens_until
      returning id
    ),
    expired as (
      delete from live_listeners where listens_until < now() - make_interval(hours => ${OLD_HOURS})
    )
    select pg_notify(${LIVE_CHANNEL}, inserted.id::text) from inserted
  `
}
