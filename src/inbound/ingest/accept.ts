import type { Db, Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { type NewEvent, storeEvents } from '../event-store.ts'
import { eventLaneOf } from '../lane.ts'
import type { Proof } from './signature.ts'

/** Bounds of one statement. */
const MAX_EVENTS = 500
const MAX_BYTES = 8 * 1024 * 1024
/**
 * Bodies that come while one statement commits share the next: two statements at a time would each be half as large.
 */
const MAX_RUNNING = 1

/** Copies of a body, one for each of its numbers: at most this many, and no more bytes in all than one statement carries. */
const MAX_PARTS = 64

/** Bodies that wait while the database does not take them; beyond it they are refused at once. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Any request is answered within this time, and then the client has been asked to send the body again. */
const MAX_WAIT_MS = 3_500

/**
 * A posted body, what proves its origin, whether each item has to prove its number, and the client that it counts against;
 * null: it has proven itself.
 */
export type Posted = { body: Buffer; proof: Proof; needsProof?: boolean; address: string | null }

/**
 * Makes the function that stores one posted body: when it resolves, the bytes are on disk, or all that follows from them is.
 * Bodies that arrive at the same time share one commit, of at most 8 MiB.
 *
 * @throws {AppError} 503 when too much waits, or the body waited for 3.5 s; then it is not stored
 */
export function createAccept(
  db: Pool,
  events: RouteKeys,
  take: (events: readonly NewEvent[]) => Promise<unknown> = (one) => storeEvents(db, one),
): (posted: Posted) => Promise<void> {
  return createStatementBatcher<Posted, void>({
    run: async (posted) => {
      await take(eventsOf(events, posted.map(arrivedNow)))
      return posted.map(() => undefined)
    },
    maxItems: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    maxRunning: MAX_RUNNING,
    maxWaitingBytes: MAX_WAITING_BYTES,
    maxWaitMs: MAX_WAIT_MS,
    bytesOf: ({ body }) => body.length,
  })
}

/** Finds the numbers that a body names. */
type RouteKeys = Pick<EventReader, 'routeKeys'>

export type Arrival = {
  body: Buffer
  /** Null: now. */
  receivedAt: Date | null
  /** Null: its origin was checked, and need not be checked again when its number is known. */
  proof: Proof | null
  needsProof?: boolean
  /** The client that it counts against; null: it is requeued, or has proven itself. */
  address: string | null
}

const arrivedNow = (posted: Posted): Arrival => ({ ...posted, receivedAt: null })

/** Keeps bodies, in the order given, in the caller's transaction when it has one. */
export const acceptBodies = (db: Db, events: RouteKeys, arrivals: readonly Arrival[]): Promise<unknown> =>
  storeEvents(db, eventsOf(events, arrivals))

const eventsOf = (events: RouteKeys, arrivals: readonly Arrival[]): NewEvent[] =>
  arrivals.flatMap((arrival) => toEvents(events, arrival.body).map((event) => ({ ...arrival, ...event })))

/**
 * One event for each number that the body names, found without parsing the body, which may not be JSON. Items without a
 * number belong to the first event, and so do numbers beyond the limit.
 */
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
