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
