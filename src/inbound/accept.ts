import { createBatcher } from '../batch.ts'
import { monotonicMs } from '../clock.ts'
import type { Db, Pool } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'
import { type NewEvent, storeEvents } from './event-store.ts'
import { laneOf } from './lane.ts'
import type { Proof } from './signature.ts'

/** As providers write their ids. What is written in another way goes with the first number. */
const NUMBER_NAME = Buffer.from('"phone_number_id"')
const NUMBER_VALUE = /^\s*:\s*"([\w.:-]{1,128})"/
/** Longer than the longest value with the spaces that anybody would put before it. */
const VALUE_WINDOW = 160
const MAX_EVENTS = 500
/** What comes while one commits goes together: two at a time would each be half as large. */
const MAX_RUNNING = 1

/** A body is here once for each of its numbers: so many at most, and no more bytes in all than this. */
const MAX_PARTS = 64
const MAX_BYTES_OF_PARTS = 32 * 1024 * 1024

/** Bodies that wait while the database does not take them; beyond it they are refused at once. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Longer than any request waits for its answer: whoever posted it was told to send it again. */
const GIVEN_UP_AFTER_MS = 5_000

type Waiting = { body: Buffer; proof: Proof; sinceMs: number }

/**
 * Makes the function that keeps one posted body: when it resolves, the bytes are on disk. Bodies that come at the same
 * time share one commit. What nobody waits for any more when its commit would begin is not kept.
 */
export function createAccept(db: Pool): (body: Buffer, proof: Proof) => Promise<void> {
  let waitingBytes = 0
  const isStored = createBatcher<Waiting, boolean>({
    run: async (waiting) => {
      const atMs = monotonicMs()
      const isAwaited = ({ sinceMs }: Waiting) => atMs - sinceMs < GIVEN_UP_AFTER_MS
      const awaited = waiting.filter(isAwaited)
      if (awaited.length > 0) await acceptBodies(db, awaited.map(arrivedNow))
      return waiting.map(isAwaited)
    },
    maxItems: MAX_EVENTS,
    maxRunning: MAX_RUNNING,
  })
  return async (body, proof) => {
    if (waitingBytes + body.length > MAX_WAITING_BYTES) throw serviceUnavailable('Too much waits to be stored')
    waitingBytes += body.length
    try {
      if (await isStored({ body, proof, sinceMs: monotonicMs() })) return
    } finally {
      waitingBytes -= body.length
    }
    throw serviceUnavailable('The event could not be stored in time: send it again')
  }
}

export type Arrival = {
  body: Buffer
  /** Null: now. */
  receivedAt: Date | null
  /** Null: its origin was checked, and need not be checked again when its number is known. */
  proof: Proof | null
}

const arrivedNow = ({ body, proof }: Waiting): Arrival => ({ body, proof, receivedAt: null })

/** Keeps bodies, in the order given, in the caller's transaction when it has one. */
export const acceptBodies = (db: Db, arrivals: readonly Arrival[]): Promise<void> =>
  storeEvents(
    db,
    arrivals.flatMap(({ body, receivedAt, proof }) => toEvents(body).map((event) => ({ ...event, receivedAt, proof }))),
  )

/**
 * One event for each number that the body speaks of, found without reading the body as JSON: it may not be any.
 * What names no number goes with the first, and so do the numbers beyond the limit.
 */
export function toEvents(body: Buffer): Omit<NewEvent, 'receivedAt' | 'proof'>[] {
  const limit = Math.max(1, Math.min(MAX_PARTS, Math.floor(MAX_BYTES_OF_PARTS / (body.length + 1))))
  const numbers = new Set<string>()
  for (let at = body.indexOf(NUMBER_NAME); at !== -1 && numbers.size < limit; at = body.indexOf(NUMBER_NAME, at)) {
    at += NUMBER_NAME.length
    const number = NUMBER_VALUE.exec(body.toString('latin1', at, at + VALUE_WINDOW))?.[1]
    if (number !== undefined) numbers.add(number)
  }
  const [first = '', ...others] = numbers
  return [first, ...others].map((number) => ({
    lane: laneOf(number),
    part: number,
    others: number === first ? others : ['*'],
    body,
  }))
}

/** The first number's part also holds every item of no number; the other parts hold their own number's only. */
export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))
