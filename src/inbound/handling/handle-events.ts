import type { Db, Pool } from '../../db/connect.ts'
import { isOwnWait, isTemporary } from '../../db/pool/failure.ts'
import type { Clock } from '../../platform/clock.ts'
import { claimEvents, finishEvents, type LeftEvent, requeueOldest } from '../event-store.ts'
import { isIsolated, isolatedLane } from '../lane.ts'
import type { BodyReader } from './bodies/body-reader.ts'
import { type HandlingOutcome, handleInHalves, handleTogether } from './handle-in-halves.ts'
import type { HandleDeps } from './handle-items.ts'
import { isCausedByItem } from './item-error.ts'
import { leaveFrom, type Owned, openEvents } from './open-event.ts'
import { storeUnhandled, type Unhandled } from './unhandled/keep-unhandled.ts'

/** Bounds of one transaction: its events, bytes and items. With the body that exceeds `bytes`, it takes at most 8 MiB. */
export type Bounds = { limit: number; bytes: number; items: number }
/**
 * A message waits for one transaction at most that has begun before it. 200 items of a body with 4,900 messages take less
 * than a second.
 */
export const EVENTS_AT_ONCE: Bounds = { limit: 200, bytes: 4 * 1024 * 1024, items: 200 }
/** Few items, since each of them may fail. */
const ISOLATED_AT_ONCE: Bounds = { limit: 1, bytes: 1, items: 32 }

export type HandleEventsDeps = HandleDeps & {
  events: BodyReader
  db: Pool
  clock: Clock
  /** Called after the commit with the items of one transaction that could not be routed or processed. */
  onUnhandled: (unhandled: readonly Unhandled[]) => void
}

/**
 * `failing`: lanes of which something fails or waits for another transaction, to be handled by `handleApart`. `large`: lanes with
 * an event of which items are left.
 */
type Handled = { handled: number; failing: number[]; large: number[] }

/**
 * Handles the oldest events of some lanes: one transaction takes them and writes everything that follows from them, so
 * that a crash at any line leaves either all or nothing. When it fails, each lane has a transaction of its own. `handled` is
 * the number of events taken; 0 when other workers hold the lanes.
 *
 * @throws when the database is away; then the call may be repeated
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
 * Handles the oldest events of a lane of which something fails, with a bounded number of attempts: number by number,
 * each item whose data is the cause being kept as failed. A number with more such items than one transaction tries moves to its
 * isolated lane, where a later message of the number may overtake it; it delays no other number. Of an isolated lane
 * some items of one event are handled. An event that cannot be written, not even as failed, goes to the end of the
 * isolated lane.
 *
 * A number with any other failure keeps its events, in their order: the call must be repeated later.
 *
 * @throws when the database is away, another transaction is in the way, or an isolated event fails; then the call may be
 * repeated
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

/** `failure`: why some numbers of the lane keep their events. */
type HandledApart = { handled: number; failure?: unknown }

/** Moves the oldest events of a lane to where each is handled alone. */
const isolate = (db: Pool, lane: number): Promise<number> =>
  db.begin(async (tx) => {
    const events = await claimEvents(tx, [lane], EVENTS_AT_ONCE)
    const left = events.map((event) => ({ ...event, lane: isolatedLane(lane) }))
    await finishEvents(tx, events, left)
    return events.length
  })

type Handle = (deps: HandleDeps, tx: Db, owned: readonly Owned[], at: Date) => Promise<HandlingOutcome>

/** Runs the work that other modules ask for after the commit. */
async function handleOnce(
  deps: HandleEventsDeps,
  lanes: readonly number[],
  bounds: Bounds,
  handle: Handle,
): Promise<Pick<Handled, 'handled' | 'large'> & { failure?: unknown }> {
  const work = async (tx: Db) => {
    // Sent together with `begin`: without a transaction it changes nothing.
    const events = await claimEvents(tx, lanes, bounds, deps.events.remembered())
    const { owned, unhandled, rest } = await openEvents(deps.events, events, bounds.items)
    const outcome = await handle(deps, tx, owned, deps.clock.now())
    const all = [...unhandled.filter(isBefore(outcome.left)), ...outcome.unhandled]
    await storeUnhandled(tx, deps.events, all)
    // The items that could not be handled begin earlier in an event than those that the bounds leave.
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

/** The lanes of events that were begun, and not ended. */
function lanesOfLarge(events: readonly LeftEvent[], rest: readonly LeftEvent[]): number[] {
  const doneBefore = new Map(events.map(({ id, done }) => [id, done]))
  return [...new Set(rest.filter(({ id, done }) => done !== doneBefore.get(id)).map(({ lane }) => lane))]
}

/** Whether an item stands before those that are left of its event: a later transaction finds the others again. */
function isBefore(left: readonly LeftEvent[]): (item: Unhandled) => boolean {
  const firstLeft = new Map(left.map(({ id, done }) => [id, done]))
  return ({ event, index }) => index < (firstLeft.get(event.id) ?? Number.POSITIVE_INFINITY)
}

/**
 * Each number's items by themselves, the numbers with fewest items first. A number whose failure no item causes keeps its items
 * where they are. Once a number has used up the attempts of this
 * transaction, the rest of its items goes to its isolated lane, and the other numbers are left for the next transaction.
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
