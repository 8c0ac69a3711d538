import type { Clock } from '../clock.ts'
import type { Db, Pool } from '../db/connect.ts'
import { isContention, isDatabaseDown } from '../db/failure.ts'
import { belongsToPart } from './accept.ts'
import { type StoredEvent, takeEvents } from './event-store.ts'
import { type AfterCommit, type Arrived, type HandleDeps, type Handling, handleItems } from './handle-items.ts'
import type { InboundItem } from './inbound-item.ts'
import { type SetAside, setAside } from './item-store.ts'
import { parseInbound } from './parse-inbound.ts'

/** What one transaction takes at most. */
export const EVENTS_AT_ONCE = { limit: 200, bytes: 8 * 1024 * 1024 }

export type HandleEventsDeps = HandleDeps & {
  db: Pool
  clock: Clock
  /** Told of each item that was set aside. */
  onSetAside: (item: SetAside) => void
}

/**
 * Handles the oldest events of some lanes: one transaction takes them and writes everything that follows from them, so
 * that a crash at any line leaves either all or nothing. Answers how many there were; 0 when other workers have the
 * lanes. When something of it fails, it begins anew and goes in halves.
 */
export async function handleLanes(deps: HandleEventsDeps, lanes: readonly number[]): Promise<number> {
  try {
    return await handleOnce(deps, lanes, handleTogether)
  } catch (error) {
    if (isNobodysFault(error)) throw error
    return handleOnce(deps, lanes, handleInHalves)
  }
}

type Owned = Arrived & { event: StoredEvent }
type HandlingEvents = HandleEventsDeps & Handling
type Handle = (deps: HandlingEvents, tx: Db, owned: readonly Owned[], at: Date) => Promise<SetAside[]>

/** What other rooms want done after the commit is done then; of a part that was rolled back, nothing comes of it. */
async function handleOnce(deps: HandleEventsDeps, lanes: readonly number[], handle: Handle): Promise<number> {
  const afterwards: AfterCommit[] = []
  const count = await handleInTransaction({ ...deps, afterwards }, lanes, handle)
  for (const act of afterwards) act()
  return count
}

function handleInTransaction(deps: HandlingEvents, lanes: readonly number[], handle: Handle): Promise<number> {
  return deps.db.begin(async (tx) => {
    const events = await takeEvents(tx, lanes, EVENTS_AT_ONCE)
    if (events.length === 0) return 0
    const parsed = events.map(parseEvent)
    const owned = parsed.flatMap(({ event, items }) =>
      items.map((item): Owned => ({ item, receivedAt: event.receivedAt, event })),
    )
    const notHandled = owned.length === 0 ? [] : await handle(deps, tx, owned, deps.clock.now())
    const aside = [...parsed.flatMap((one) => one.aside), ...notHandled]
    await setAside(tx, aside)
    for (const item of aside) deps.onSetAside(item)
    return events.length
  })
}

const handleTogether: Handle = async (deps, tx, owned, at) => {
  const aside = await handleItems(deps, tx, owned, at)
  const events = new Map(owned.map(({ item, event }) => [item, event]))
  return aside.map(({ item, state, reason }) => asideOf(state, reason, item, events.get(item)))
}

/** All at once; when something of it fails, one half after the other, so that the bad one fails alone. */
const handleInHalves: Handle = async (deps, tx, owned, at) => {
  const [first] = owned
  if (first === undefined) return []
  try {
    return await savepoint(tx, (inner) => handleTogether(deps, inner, owned, at))
  } catch (error) {
    if (isNobodysFault(error)) throw error
    if (owned.length === 1) return [asideOf('failed', reasonOfError(error), first.item, first.event)]
  }
  const half = Math.ceil(owned.length / 2)
  const before = await handleInHalves(deps, tx, owned.slice(0, half), at)
  return [...before, ...(await handleInHalves(deps, tx, owned.slice(half), at))]
}

const reasonOfError = (error: unknown): string => (error instanceof Error ? error.message : 'refused by the database')

type Parsed = { event: StoredEvent; items: InboundItem[]; aside: SetAside[] }

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
    const isFirst = belongsToPart(event, null)
    return { event, items: [], aside: isFirst ? [{ state: 'unreadable', reason: parsed.reason, ...whole }] : [] }
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
