import { hash } from 'node:crypto'
import type { Db, Pool } from '../../db/connect.ts'
import { isOwnWait, isTemporary } from '../../db/pool/failure.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { monotonicMs } from '../../platform/clock.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { type Arrival, LANE_COUNT, type NewEvent, type StoredEvent, storeEvents, UNPROVEN } from '../event-store.ts'
import type { HandleEventsDeps, Owned } from '../handling/handle-events.ts'
import { type AfterCommit, handleRouted } from '../handling/handle-items.ts'
import { isEarly, type RoutedItems, routeItems } from '../handling/route-items.ts'

const MAX_EVENTS = 500
const MAX_BYTES = 8 * 1024 * 1024
/** Bodies arriving during a commit share the next one; two statements at a time would each be half as large. */
const MAX_RUNNING = 1
/** Larger bodies commit apart from smaller ones, which would wait up to 0.1 s for a statement with 4 MiB. */
const LARGE_BYTES = 64 * 1024
/** Copies per body, one for each number; the total must also fit MAX_BYTES. */
const MAX_PARTS = 64
/** Refuses bodies beyond this while the database is slow. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Response deadline, after which the client must resend. */
const MAX_WAIT_MS = 3_500

type RouteKeys = Pick<EventReader, 'routeKeys'>

/**
 * Creates the function that accepts a body and resolves once durable. Concurrent bodies share a commit.
 * @throws {AppError} 503 when too much waits, or after 3.5 s; the body is not stored
 */
export function createAccept(
  db: Pool,
  events: RouteKeys,
  take: (events: readonly NewEvent[]) => Promise<unknown> = (one) => storeEvents(db, one),
): (posted: Arrival) => Promise<void> {
  const options = {
    run: async (posted: Arrival[]) => {
      await take(eventsOf(events, posted))
      return posted.map(() => undefined)
    },
    maxItems: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    maxRunning: MAX_RUNNING,
    maxWaitingBytes: MAX_WAITING_BYTES,
    maxWaitMs: MAX_WAIT_MS,
    bytesOf: ({ body }: Arrival) => body.length,
  }
  const small = createStatementBatcher<Arrival, void>(options)
  const large = createStatementBatcher<Arrival, void>(options)
  return (posted) => (posted.body.length > LARGE_BYTES ? large : small)(posted)
}

/** Stores bodies in order, in the caller's transaction if any. */
export const acceptBodies = (db: Db, events: RouteKeys, arrivals: readonly Arrival[]): Promise<unknown> =>
  storeEvents(db, eventsOf(events, arrivals))

const eventsOf = (events: RouteKeys, arrivals: readonly Arrival[]): NewEvent[] =>
  arrivals.flatMap((arrival) => toEvents(events, arrival.body).map((event) => ({ ...arrival, ...event })))

/** Splits a body into one event per number without parsing; the first also holds items without a number. */
export function toEvents(events: RouteKeys, body: Buffer): Pick<NewEvent, 'lane' | 'part' | 'others' | 'body'>[] {
  const limit = Math.max(1, Math.min(MAX_PARTS, Math.floor(MAX_BYTES / (body.length + 1))))
  const [first = '', ...others] = events.routeKeys(body, limit)
  return [first, ...others].map((number) => ({
    lane: eventLaneOf(number),
    part: number,
    others: number === first ? others : ['*'],
    body,
  }))
}

/** Returns the lane of a number's events, 0 to 63, by a hash of the id in the event body. */
export const eventLaneOf = (number: string): number => hash('md5', number, 'buffer').readUInt8(0) % LANE_COUNT

/** Larger bodies are stored: parsing them would delay others. */
const MOST_BYTES = 8 * 1024
/** Per transaction, and per lane within one. A message takes about 0.2 ms. */
const MOST_ITEMS = 200
const MOST_ITEMS_OF_LANE = 50
/** Per lock, because requests wait for the transaction. */
const MOST_LOCK_WAIT_MS = 50
/** How long a lane stores events after a failed or slow attempt. */
const PAUSE_MS = 1_000
/** Slower transactions delay responses; providers resend after some seconds. */
const SLOW_MS = 1_000
/** Pause for a lane with stored events or a running worker. */
const BUSY_MS = 20

/** Takes posted events in order and resolves with how many were stored for later. */
export type TakeEvents = (events: readonly NewEvent[]) => Promise<number>

/** Event ids are batch positions, because nothing is stored yet. */
type Candidates = ReadonlyMap<number, readonly Owned[]>

/**
 * Handles events in the accepting transaction if their lanes are empty, and stores the others there
 * (docs/decisions/0017-events-handled-at-once.md). On failure, rolls back and stores all.
 * @throws if the database is away; the events may or may not be stored
 */
export function createAtOnce(deps: HandleEventsDeps): TakeEvents {
  const storedUntil = new Map<number, number>()
  const pause = (lanes: Iterable<number>, ms: number) => {
    for (const lane of lanes) storedUntil.set(lane, monotonicMs() + ms)
  }
  return async (events) => {
    const nowMs = monotonicMs()
    const candidates = await chooseLanes(deps, events, (lane) => (storedUntil.get(lane) ?? 0) <= nowMs)
    if (candidates.size > 0) {
      try {
        const handled = await takeOnce(deps, events, candidates)
        const busy = [...candidates.keys()].filter((lane) => !handled.has(lane))
        pause(busy, BUSY_MS)
        if (monotonicMs() - nowMs > SLOW_MS) pause(handled, PAUSE_MS)
        return events.filter(({ lane }) => !handled.has(lane)).length
      } catch (error) {
        // Otherwise the transaction may have committed.
        if (isTemporary(error) && !isOwnWait(error)) throw error
        pause(candidates.keys(), PAUSE_MS)
      }
    }
    remember(deps, events, await storeEvents(deps.db, events))
    return events.length
  }
}

/** Spares this process a second read. Must be called after the commit. */
function remember(
  { events: reader }: Pick<HandleEventsDeps, 'events'>,
  events: readonly NewEvent[],
  ids: readonly number[],
): void {
  for (const [place, { body }] of events.entries()) {
    const id = ids[place]
    if (id !== undefined) reader.remember(id, body)
  }
}

async function chooseLanes(
  deps: Pick<HandleEventsDeps, 'events'>,
  events: readonly NewEvent[],
  isOpen: (lane: number) => boolean,
): Promise<Candidates> {
  const lanes: [number, Owned[]][] = []
  const numbered = events.map((event, place) => ({ ...event, id: place }))
  for (const [lane, ofLane] of Map.groupBy(numbered, (event) => event.lane)) {
    if (!isOpen(lane) || !ofLane.every(isSmall)) continue
    const items = await openAll(deps, ofLane.map(toStored))
    if (items !== undefined) lanes.push([lane, items])
  }
  let count = 0
  const chosen = new Map<number, readonly Owned[]>()
  for (const [lane, items] of lanes.toSorted(([, one], [, other]) => one.length - other.length)) {
    count += items.length
    if (count <= MOST_ITEMS) chosen.set(lane, items)
  }
  return chosen
}

const isSmall = ({ part, others, body }: NewEvent): boolean =>
  part !== '' && others.length === 0 && body.length < MOST_BYTES

const toStored = ({ proof, needsProof = false, ...event }: NewEvent & { id: number }): StoredEvent => ({
  ...event,
  needsProof,
  ...(proof ?? UNPROVEN),
  others: [],
  receivedAt: event.receivedAt ?? new Date(0),
  done: 0,
  isChecked: proof === null,
})

async function openAll(
  { events: reader }: Pick<HandleEventsDeps, 'events'>,
  events: readonly StoredEvent[],
): Promise<Owned[] | undefined> {
  const items: Owned[] = []
  for (const event of events) {
    const body = await reader.open(event, MOST_ITEMS_OF_LANE - items.length)
    if (body.kind === 'unreadable' || body.unreadable.length > 0 || body.next !== null) return undefined
    for (const one of body.taken) {
      const { route } = one.item
      if (route.by !== 'sender' || route.phoneNumberId !== event.part) return undefined
      items.push({ ...one, receivedAt: event.receivedAt, event })
    }
  }
  return items
}

class NotHandledAtOnce extends Error {}

/** Handles items in empty lanes and stores the other events, in one transaction. Returns those lanes. */
async function takeOnce(
  deps: HandleEventsDeps,
  events: readonly NewEvent[],
  candidates: Candidates,
): Promise<ReadonlySet<number>> {
  const items = [...candidates.values()].flat()
  const work = async (tx: Db) => {
    // Pipelined with `begin`; harmless outside a transaction.
    const [empty, found] = await Promise.all([
      claimEmptyLanes(tx, [...candidates.keys()], MOST_LOCK_WAIT_MS),
      routeItems(tx, items),
    ])
    const { lanes, routing } = chooseRouted(found, items, empty)
    const rest = events.filter(({ lane }) => !lanes.has(lane))
    const storing = rest.length > 0 ? storeEvents(tx, rest) : []
    const afterwards: AfterCommit[] = []
    if (lanes.size > 0) {
      const notHandled = await handleRouted({ ...deps, afterwards }, tx, routing, deps.clock.now())
      if (notHandled.length > 0) throw new NotHandledAtOnce('Items are to be kept as not handled')
    }
    const ids = await storing
    return { lanes, afterwards: [...afterwards, () => remember(deps, rest, ids)] }
  }
  const { lanes, afterwards } = await deps.db.begin('isolation level read committed', work, { pipelined: true })
  for (const act of afterwards) act()
  return lanes
}

/** Claims empty, free lanes until the transaction ends. Statements then wait up to `mostWaitMs` for a lock. */
async function claimEmptyLanes(
  tx: Db,
  lanes: readonly number[],
  mostWaitMs: number,
): Promise<{ lanes: number[]; at: Date }> {
  const [row] = await tx<[{ lanes: number[]; at: Date }]>`
    select claim_empty_lanes(${lanes as number[]}::smallint[], ${mostWaitMs}::integer) as lanes, now() as at
  `
  return row
}

function chooseRouted(
  found: RoutedItems,
  items: readonly Owned[],
  { lanes, at }: { lanes: readonly number[]; at: Date },
): { lanes: ReadonlySet<number>; routing: RoutedItems } {
  const routed = found.routed.map((one) => ({ ...one, receivedAt: at }))
  const unroutable = new Set(found.unroutable)
  const left = new Set([
    ...items.filter(({ item }) => unroutable.has(item)).map(({ event }) => event.lane),
    ...routed.filter(isEarly).map(({ event }) => event.lane),
  ])
  const chosen = new Set(lanes.filter((lane) => !left.has(lane)))
  return {
    lanes: chosen,
    routing: { routed: routed.filter(({ event }) => chosen.has(event.lane)), unroutable: [] },
  }
}
