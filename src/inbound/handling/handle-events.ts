import type { Db, Pool } from '../../db/connect.ts'
import { isOwnWait, isTemporary } from '../../db/pool/failure.ts'
import type { Clock } from '../../platform/clock.ts'
import {
  claimEvents,
  finishEvents,
  isIsolated,
  isolatedLane,
  type LeftEvent,
  requeueOldest,
  type StoredEvent,
} from '../event-store.ts'
import { isCausedByItem } from './batch/item-records.ts'
import { type BodyReader, belongsToPart } from './body-reader.ts'
import { type AfterCommit, type HandleDeps, handleItems } from './handle-items.ts'
import type { Arrived } from './route-items.ts'
import { savepoint, storeUnhandled, type Unhandled } from './unhandled/keep-unhandled.ts'

/** Limits per transaction. The body that exceeds `bytes` is included, so the maximum is 8 MiB. */
export type Bounds = { limit: number; bytes: number; items: number }
/** A new message waits for one transaction at most: 200 items from a body with 4,900 messages take under 1 s. */
export const EVENTS_AT_ONCE: Bounds = { limit: 200, bytes: 4 * 1024 * 1024, items: 200 }
/** Few, because each may fail. */
const ISOLATED_AT_ONCE: Bounds = { limit: 1, bytes: 1, items: 32 }

export type HandleEventsDeps = HandleDeps & {
  events: BodyReader
  db: Pool
  clock: Clock
  /** Called after the commit with items that could not be routed or processed. */
  onUnhandled: (unhandled: readonly Unhandled[]) => void
}

/** `failing` lanes need `handleApart`; `large` lanes have an event with items left. */
type Handled = { handled: number; failing: number[]; large: number[] }

/**
 * Handles the oldest events in some lanes: one transaction claims them and writes all consequences, so that a crash
 * leaves all or nothing. After a failure each lane gets its own. @throws if the database is away; can be called again
 */
export async function handleLanes(deps: HandleEventsDeps, lanes: readonly number[]): Promise<Handled> {
  try {
    return { ...(await handleOnce(deps, lanes, EVENTS_AT_ONCE, handleTogether)), failing: [] }
  } catch (error) {
    if (isTemporary(error) && !isOwnWait(error)) throw error
  }
  if (lanes.length === 1) return { handled: 0, failing: [...lanes], large: [] }
  const all: Handled = { handled: 0, failing: [], large: [] }
  for (const lane of lanes) {
    const one = await handleLanes(deps, [lane])
    all.handled += one.handled
    all.failing.push(...one.failing)
    all.large.push(...one.large)
  }
  return all
}

/**
 * Handles a failing lane number by number, with bounded attempts. Items whose data causes the failure are kept as
 * failed. A number with many such items moves to its isolated lane, where a later message may overtake it; an
 * unwritable event moves to that lane's end. After any other failure the number keeps its events, in order.
 * @throws if the database is away, on lock contention, or if an isolated event fails; can be called again
 */
export async function handleApart(deps: HandleEventsDeps, lane: number): Promise<HandledApart> {
  try {
    return isIsolated(lane)
      ? await handleOnce(deps, [lane], ISOLATED_AT_ONCE, handleInHalves)
      : await handleOnce(deps, [lane], EVENTS_AT_ONCE, numberByNumber)
  } catch (error) {
    if (!isCausedByItem(error)) throw error
    if (!isIsolated(lane)) return { handled: await isolate(deps.db, lane) }
    await requeueOldest(deps.db, lane)
    throw error
  }
}

type HandledApart = { handled: number; failure?: unknown }

const isolate = (db: Pool, lane: number): Promise<number> =>
  db.begin(async (tx) => {
    const events = await claimEvents(tx, [lane], EVENTS_AT_ONCE)
    const left = events.map((event) => ({ ...event, lane: isolatedLane(lane) }))
    await finishEvents(tx, events, left)
    return events.length
  })

type Handle = (deps: HandleDeps, tx: Db, owned: readonly Owned[], at: Date) => Promise<HandlingOutcome>

async function handleOnce(
  deps: HandleEventsDeps,
  lanes: readonly number[],
  bounds: Bounds,
  handle: Handle,
): Promise<Pick<Handled, 'handled' | 'large'> & { failure?: unknown }> {
  const work = async (tx: Db) => {
    // Pipelined with `begin`; harmless outside a transaction.
    const events = await claimEvents(tx, lanes, bounds, deps.events.remembered())
    const { owned, unhandled, rest } = await openEvents(deps.events, events, bounds.items)
    const outcome = await handle(deps, tx, owned, deps.clock.now())
    const all = [...unhandled.filter(isBefore(outcome.left)), ...outcome.unhandled]
    await storeUnhandled(tx, deps.events, all)
    // Failed items precede those left by the limits, so must come last: the last entry wins.
    await finishEvents(tx, events, [...rest, ...outcome.left])
    return { events, rest, outcome: { ...outcome, unhandled: all } }
  }
  const { events, rest, outcome } = await deps.db.begin('isolation level read committed', work, { pipelined: true })
  for (const act of outcome.afterwards) act()
  if (outcome.unhandled.length > 0) deps.onUnhandled(outcome.unhandled)
  const untouched = outcome.failure === undefined ? 0 : countUntouched(events, outcome.left)
  return { handled: events.length - untouched, large: lanesOfLarge(events, rest), failure: outcome.failure }
}

const countUntouched = (events: readonly LeftEvent[], left: readonly LeftEvent[]): number => {
  const doneBefore = new Map(events.map(({ id, done }) => [id, done]))
  return left.filter(({ id, done }) => doneBefore.get(id) === done).length
}

function lanesOfLarge(events: readonly LeftEvent[], rest: readonly LeftEvent[]): number[] {
  const doneBefore = new Map(events.map(({ id, done }) => [id, done]))
  return [...new Set(rest.filter(({ id, done }) => done !== doneBefore.get(id)).map(({ lane }) => lane))]
}

/** Keeps items before the first one left; a later transaction finds the others again. */
function isBefore(left: readonly LeftEvent[]): (item: Unhandled) => boolean {
  const firstLeft = new Map(left.map(({ id, done }) => [id, done]))
  return ({ event, index }) => index < (firstLeft.get(event.id) ?? Number.POSITIVE_INFINITY)
}

/**
 * Handles numbers separately, fewest items first. If no item caused a failure, the number keeps its items. Once
 * attempts run out, its remaining items move to its isolated lane; other numbers wait for the next transaction.
 */
const numberByNumber: Handle = async (deps, tx, owned, at) => {
  const numbers = [...Map.groupBy(owned, ({ event }) => event.part).values()]
  const all: HandlingOutcome = { unhandled: [], afterwards: [], left: [] }
  let isSpent = false
  for (const items of numbers.toSorted((one, other) => one.length - other.length)) {
    if (isSpent) {
      all.left.push(...leaveFrom(items))
      continue
    }
    const outcome = await handleInHalves(deps, tx, items, at).catch((failure: unknown) => {
      if (isTemporary(failure)) throw failure
      all.failure = failure
      all.left.push(...leaveFrom(items))
    })
    if (outcome === undefined) continue
    all.unhandled.push(...outcome.unhandled)
    all.afterwards.push(...outcome.afterwards)
    isSpent = outcome.left.length > 0
    all.left.push(...outcome.left.map((event) => ({ ...event, lane: isolatedLane(event.lane) })))
  }
  return all
}

/** Failed attempts before the remaining items wait for a later transaction. */
const MAX_FAILURES = 40

type HandlingOutcome = {
  unhandled: Unhandled[]
  afterwards: AfterCommit[]
  left: LeftEvent[]
  failure?: unknown
}

/** Handles all items in one go; a single failure rolls back all. */
const handleTogether: Handle = async (deps, tx, owned, at) => {
  if (owned.length === 0) return { unhandled: [], afterwards: [], left: [] }
  const afterwards: AfterCommit[] = []
  const notHandled = await handleItems({ ...deps, afterwards }, tx, owned, at)
  const owners = new Map(owned.map((one) => [one.item, one]))
  const unhandled = notHandled.flatMap(({ item, state, reason }) => {
    const owner = owners.get(item)
    return owner === undefined ? [] : [{ ...owner, state, reason }]
  })
  return { unhandled, afterwards, left: [] }
}

/** Handles all items, halving until a failing item is alone. @throws errors not caused by an item's data */
const handleInHalves: Handle = async (deps, tx, owned, at) => {
  const unhandled: Unhandled[] = []
  const afterwards: AfterCommit[] = []
  const left: Owned[] = []
  let failures = 0

  const handle = async (items: readonly Owned[]): Promise<void> => {
    const [first] = items
    if (first === undefined) return
    if (failures === MAX_FAILURES) {
      left.push(...items)
      return
    }
    try {
      const outcome = await savepoint(tx, (inner) => handleTogether(deps, inner, items, at))
      unhandled.push(...outcome.unhandled)
      afterwards.push(...outcome.afterwards)
    } catch (error) {
      if (!isCausedByItem(error)) throw error
      failures += 1
      if (items.length === 1) {
        unhandled.push({ ...first, state: 'failed', reason: reasonOf(error) })
        return
      }
      const half = Math.ceil(items.length / 2)
      await handle(items.slice(0, half))
      await handle(items.slice(half))
    }
  }
  await handle(owned)
  return { unhandled, afterwards, left: leaveFrom(left) }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'refused by the database')

/** Per transaction; the worker rests in between. 50 messages take a few ms on the request thread. */
const ITEMS_OF_EVENT = 50

export type Owned = Arrived & { index: number }

type OpenedEvents = { owned: Owned[]; unhandled: Unhandled[]; rest: LeftEvent[] }

/** Takes up to `room` items: an equal share per number, then the remainder, so that none crowds out others. */
async function openEvents(
  reader: Pick<BodyReader, 'open'>,
  events: readonly StoredEvent[],
  room: number,
): Promise<OpenedEvents> {
  const numbers = [...Map.groupBy(events, ({ lane, part }) => `${lane} ${part}`).values()].map(
    (ofNumber): Opening => ({ waiting: [...ofNumber], taken: 0, isFull: false }),
  )
  const opened: OpenedEvents = { owned: [], unhandled: [], rest: [] }
  const share = Math.max(1, Math.floor(room / numbers.length))
  let left = room
  for (const most of [share, room]) {
    for (const number of numbers) left -= await takeItems(reader, number, Math.min(most - number.taken, left), opened)
  }
  opened.rest.push(...numbers.flatMap(({ waiting }) => waiting))
  opened.owned.sort((one, other) => one.event.id - other.event.id || one.index - other.index)
  return opened
}

type Opening = { waiting: StoredEvent[]; taken: number; isFull: boolean }

async function takeItems(
  reader: Pick<BodyReader, 'open'>,
  number: Opening,
  most: number,
  opened: OpenedEvents,
): Promise<number> {
  let taken = 0
  for (let [event] = number.waiting; event !== undefined && taken < most && !number.isFull; [event] = number.waiting) {
    const room = Math.min(most - taken, ITEMS_OF_EVENT)
    const { count, next } = await openEvent(reader, event, room, opened)
    taken += count
    number.isFull = count === ITEMS_OF_EVENT && next !== null
    if (next === null) number.waiting.shift()
    else number.waiting[0] = { ...event, done: next }
  }
  number.taken += taken
  return taken
}

async function openEvent(
  reader: Pick<BodyReader, 'open'>,
  event: StoredEvent,
  room: number,
  { owned, unhandled }: OpenedEvents,
): Promise<{ count: number; next: number | null }> {
  const body = await reader.open(event, room)
  if (body.kind === 'unreadable') {
    const whole = { event, item: null, index: 0, state: 'unreadable', reason: body.reason } as const
    if (belongsToPart(event, null)) unhandled.push(whole)
    return { count: 1, next: null }
  }
  for (const one of body.unreadable) unhandled.push({ event, ...one, state: 'unreadable' })
  for (const one of body.taken) owned.push({ ...one, receivedAt: event.receivedAt, event })
  return { count: body.taken.length, next: body.next }
}

/** Returns each event from its first unhandled item on. */
function leaveFrom(owned: readonly Owned[]): LeftEvent[] {
  const left = new Map<number, LeftEvent>()
  for (const { event, index } of owned) {
    if (!left.has(event.id)) left.set(event.id, { ...event, done: index })
  }
  return [...left.values()]
}
