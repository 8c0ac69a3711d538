import type { Clock } from '../clock.ts'
import type { Db, Pool } from '../db/connect.ts'
import { isContention, isDatabaseDown } from '../db/failure.ts'
import { belongsToPart } from './accept.ts'
import { claimLane, readEvents, removeEvents, type StoredEvent } from './event-store.ts'
import { type HandleDeps, handleItems } from './handle-items.ts'
import type { InboundItem } from './inbound-item.ts'
import { type SetAside, setAside } from './item-store.ts'
import { parseInbound } from './parse-inbound.ts'

const EVENTS_AT_ONCE = 200

export type HandleEventsDeps = HandleDeps & {
  db: Pool
  clock: Clock
  /** Told of each item that was set aside. */
  onSetAside: (item: SetAside) => void
}

/**
 * Handles the oldest events of a lane: one transaction writes everything that follows from them and removes them, so
 * that a crash at any line leaves either all or nothing. Answers how many there were; 0 when another worker has the lane.
 */
export function handleLane(deps: HandleEventsDeps, lane: number): Promise<number> {
  return deps.db.begin(async (tx) => {
    if (!(await claimLane(tx, lane))) return 0
    const events = await readEvents(tx, lane, EVENTS_AT_ONCE)
    if (events.length === 0) return 0
    const aside = await handleTogether(deps, tx, events)
    await setAside(tx, aside)
    await removeEvents(
      tx,
      lane,
      events.map(({ id }) => id),
    )
    for (const item of aside) deps.onSetAside(item)
    return events.length
  })
}

type Parsed = { event: StoredEvent; items: InboundItem[]; aside: SetAside[] }

/** All at once; when something of it fails, item by item, so that the bad one fails alone. */
async function handleTogether(deps: HandleEventsDeps, tx: Db, events: readonly StoredEvent[]): Promise<SetAside[]> {
  const parsed = events.map(parseEvent)
  const at = deps.clock.now()
  const unreadable = parsed.flatMap(({ aside }) => aside)
  const owner = new Map(parsed.flatMap(({ event, items }) => items.map((item) => [item, event] as const)))
  const items = [...owner.keys()]
  try {
    const unroutable = await savepoint(tx, (inner) => handleItems(deps, inner, items, at))
    return [...unreadable, ...unroutable.map((item) => unroutableOf(item, owner.get(item)))]
  } catch (error) {
    if (isNobodysFault(error)) throw error
  }
  return [...unreadable, ...(await handleApart(deps, tx, owner, at))]
}

async function handleApart(
  deps: HandleEventsDeps,
  tx: Db,
  owner: ReadonlyMap<InboundItem, StoredEvent>,
  at: Date,
): Promise<SetAside[]> {
  const aside: SetAside[] = []
  for (const [item, event] of owner) {
    try {
      const unroutable = await savepoint(tx, (inner) => handleItems(deps, inner, [item], at))
      aside.push(...unroutable.map((one) => unroutableOf(one, event)))
    } catch (error) {
      if (isNobodysFault(error)) throw error
      aside.push(asideOf('failed', error instanceof Error ? error.message : 'refused by the database', item, event))
    }
  }
  return aside
}

function parseEvent(event: StoredEvent): Parsed {
  const parsed = parseInbound(event.body)
  if (parsed.kind === 'unreadable') {
    const whole = {
      phoneNumberId: null,
      wabaAccountId: null,
      app: null,
      body: event.body,
      receivedAt: event.receivedAt,
    }
    return { event, items: [], aside: [{ state: 'unreadable', reason: parsed.reason, ...whole }] }
  }
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  const isUnreadable = (item: InboundItem) => item.kind === 'unreadable-item'
  return {
    event,
    items: own.filter((item) => !isUnreadable(item)),
    aside: own.filter(isUnreadable).map((item) => asideOf('unreadable', reasonOf(item), item, event)),
  }
}

const reasonOf = (item: InboundItem): string => ('reason' in item ? item.reason : item.kind)

const unroutableOf = (item: InboundItem, event: StoredEvent | undefined): SetAside =>
  asideOf('unroutable', 'no connected number wants it', item, event)

function asideOf(
  state: SetAside['state'],
  reason: string,
  item: InboundItem,
  event: StoredEvent | undefined,
): SetAside {
  const { route } = item
  return {
    state,
    reason,
    phoneNumberId: route.by === 'sender' ? route.phoneNumberId : null,
    wabaAccountId: route.by === 'account' ? route.wabaAccountId : null,
    app: route.by === 'app' ? route.gupshupAppId : null,
    body: rawOf(item, event),
    receivedAt: event?.receivedAt ?? new Date(0),
  }
}

/** The item's own JSON; the whole event where that cannot be cut out, whose other items are recognised as known. */
function rawOf(item: InboundItem, event: StoredEvent | undefined): Buffer {
  try {
    return Buffer.from(item.raw())
  } catch {
    return event?.body ?? Buffer.alloc(0)
  }
}

/** The database is away, or two workers were in each other's way: the whole batch is tried again. */
const isNobodysFault = (error: unknown): boolean => isDatabaseDown(error) || isContention(error)

/** Runs statements so that their failure leaves the transaction usable. */
async function savepoint<T>(tx: Db, run: (inner: Db) => Promise<T>): Promise<T> {
  if (!('savepoint' in tx)) throw new Error('A savepoint needs a transaction')
  return tx.savepoint(run) as Promise<T>
}
