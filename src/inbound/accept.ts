import { createHash } from 'node:crypto'
import { createBatcher } from '../batch.ts'
import type { Db, Pool } from '../db/connect.ts'
import { serviceUnavailable } from '../errors.ts'
import { type NewEvent, storeEvents } from './event-store.ts'

/** Events are spread over so many lanes by the hash of their number; a lane is handled by one worker at a time. */
export const LANES = 64

/** As providers write their ids. What is written in another way goes with the first number. */
const NUMBER_ID = /"phone_number_id"\s*:\s*"([\w.:-]{1,128})"/g
const MAX_EVENTS = 500
const MAX_RUNNING = 3

/** A body is here once for each of its numbers: so many at most, and no more bytes in all than this. */
const MAX_PARTS = 64
const MAX_BYTES_OF_PARTS = 32 * 1024 * 1024

/** Bodies that wait while the database does not take them; beyond it they are refused at once. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** A body on its way to the database; undefined once nobody waits for it any more. */
type Waiting = { body: Buffer | undefined }

/**
 * Makes the function that keeps one posted body: when it resolves, the bytes are on disk. Bodies that come at the same
 * time share one commit. What was given up (by the signal) before its commit began is not kept.
 */
export function createAccept(db: Pool): (body: Buffer, signal: AbortSignal) => Promise<void> {
  let waitingBytes = 0
  const store = createBatcher<Waiting, void>({
    run: async (waiting) => {
      const bodies = waiting.map(({ body }) => body).filter((body) => body !== undefined)
      if (bodies.length > 0) await acceptBodies(db, bodies.map(arrivedNow))
      return waiting.map(() => undefined)
    },
    maxItems: MAX_EVENTS,
    maxRunning: MAX_RUNNING,
  })
  return async (body, signal) => {
    if (waitingBytes + body.length > MAX_WAITING_BYTES) throw serviceUnavailable('Too much waits to be stored')
    const waiting: Waiting = { body }
    const release = () => {
      if (waiting.body === undefined) return
      waitingBytes -= body.length
      waiting.body = undefined
    }
    waitingBytes += body.length
    signal.addEventListener('abort', release, { once: true })
    try {
      await store(waiting)
    } finally {
      signal.removeEventListener('abort', release)
      release()
    }
  }
}

/** A body, and when it came; null: now. */
export type Arrival = { body: Buffer; receivedAt: Date | null }

const arrivedNow = (body: Buffer): Arrival => ({ body, receivedAt: null })

/** Keeps bodies, in the order given, in the caller's transaction when it has one. */
export const acceptBodies = (db: Db, arrivals: readonly Arrival[]): Promise<void> =>
  storeEvents(
    db,
    arrivals.flatMap(({ body, receivedAt }) => toEvents(body).map((event) => ({ ...event, receivedAt }))),
  )

/**
 * One event for each number that the body speaks of, found without reading the body as JSON: it may not be any.
 * What names no number goes with the first, and so do the numbers beyond the limit.
 */
export function toEvents(body: Buffer): Omit<NewEvent, 'receivedAt'>[] {
  const limit = Math.max(1, Math.min(MAX_PARTS, Math.floor(MAX_BYTES_OF_PARTS / (body.length + 1))))
  const numbers = new Set<string>()
  for (const [, number = ''] of body.toString('latin1').matchAll(NUMBER_ID)) {
    numbers.add(number)
    if (numbers.size === limit) break
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

const laneOf = (number: string): number => createHash('md5').update(number).digest().readUInt8(0) % LANES
