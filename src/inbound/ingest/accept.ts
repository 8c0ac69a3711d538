import type { Db, Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import { type NewEvent, storeEvents } from '../event-store.ts'
import { eventLaneOf } from '../lane.ts'
import type { Proof } from './signature.ts'

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

export type Posted = { body: Buffer; proof: Proof; needsProof?: boolean; address: string | null }

/**
 * Creates the function that accepts a body and resolves once durable. Concurrent bodies share a commit.
 * @throws {AppError} 503 when too much waits, or after 3.5 s; the body is not stored
 */
export function createAccept(
  db: Pool,
  events: RouteKeys,
  take: (events: readonly NewEvent[]) => Promise<unknown> = (one) => storeEvents(db, one),
): (posted: Posted) => Promise<void> {
  const options = {
    run: async (posted: Posted[]) => {
      await take(eventsOf(events, posted.map(arrivedNow)))
      return posted.map(() => undefined)
    },
    maxItems: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    maxRunning: MAX_RUNNING,
    maxWaitingBytes: MAX_WAITING_BYTES,
    maxWaitMs: MAX_WAIT_MS,
    bytesOf: ({ body }: Posted) => body.length,
  }
  const small = createStatementBatcher<Posted, void>(options)
  const large = createStatementBatcher<Posted, void>(options)
  return (posted) => (posted.body.length > LARGE_BYTES ? large : small)(posted)
}

type RouteKeys = Pick<EventReader, 'routeKeys'>

export type Arrival = {
  body: Buffer
  receivedAt: Date | null
  proof: Proof | null
  needsProof?: boolean
  address: string | null
}

const arrivedNow = (posted: Posted): Arrival => ({ ...posted, receivedAt: null })

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
