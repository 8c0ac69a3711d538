import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../platform/cache/cache-bound.ts'

/** The number of lanes. The hash of an event's number chooses one; one worker at a time handles a lane. */
const COUNT = 64

/** For each lane there is a second one, whose events are handled one by one, so that they delay no others. */
export const isolatedLane = (lane: number): number => (isIsolated(lane) ? lane : lane + COUNT)
/** Whether a lane is the isolated one of its number. */
export const isIsolated = (lane: number): boolean => lane >= COUNT

export const ALL_LANES: readonly number[] = Array.from({ length: 2 * COUNT }, (_, lane) => lane)

const lanes = new LRUCache<string, number>(maxEntries(10_000))

/** The lane of a number's events, 0 to 63, by a hash of the id under which a body names it. */
export function eventLaneOf(number: string): number {
  const existing = lanes.get(number)
  if (existing !== undefined) return existing
  const lane = hash('md5', number, 'buffer').readUInt8(0) % COUNT
  lanes.set(number, lane)
  return lane
}

/** The first number's part also holds every item of no number; the other parts hold their own number's only. */
export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))
