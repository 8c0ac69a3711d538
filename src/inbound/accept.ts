import { createHash } from 'node:crypto'
import { createBatcher } from '../batch.ts'
import type { Db, Pool } from '../db/connect.ts'
import { type NewEvent, storeEvents } from './event-store.ts'

/** Events are spread over so many lanes by the hash of their number; a lane is handled by one worker at a time. */
export const LANES = 64

const NUMBER_ID = /"phone_number_id"\s*:\s*"([^"\\]{1,128})"/g
const MAX_EVENTS = 500
const MAX_RUNNING = 3

/**
 * Makes the function that keeps one posted body: when it resolves, the bytes are on disk. Bodies that come at the same
 * time share one commit.
 */
export function createAccept(db: Pool): (body: Buffer) => Promise<void> {
  return createBatcher<Buffer, void>({
    run: async (bodies) => {
      await acceptBodies(db, bodies)
      return bodies.map(() => undefined)
    },
    maxItems: MAX_EVENTS,
    maxRunning: MAX_RUNNING,
  })
}

/** Keeps bodies, in the order given, in the caller's transaction when it has one. */
export const acceptBodies = (db: Db, bodies: readonly Buffer[]): Promise<void> =>
  storeEvents(db, bodies.flatMap(toEvents))

/**
 * One event for each number that the body speaks of, found without reading the body as JSON: it may not be any.
 * What names no number goes with the first.
 */
export function toEvents(body: Buffer): NewEvent[] {
  const numbers = [...new Set([...body.toString('latin1').matchAll(NUMBER_ID)].map((match) => match[1] ?? ''))]
  const [first = ''] = numbers
  return (numbers.length === 0 ? [''] : numbers).map((number) => ({
    lane: laneOf(number),
    part: number,
    others: number === first ? numbers.filter((other) => other !== number) : ['*'],
    body,
  }))
}

/** The first number's part also holds every item of no number; the other parts hold their own number's only. */
export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))

const laneOf = (number: string): number => createHash('md5').update(number).digest().readUInt8(0) % LANES
