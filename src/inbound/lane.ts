import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../platform/cache/cache-bound.ts'

/** Number of lanes. A number's hash selects a lane; each lane has one worker at a time. */
const COUNT = 64

/** Returns the matching isolated lane, where events can't delay other numbers. */
export const isolatedLane = (lane: number): number => (isIsolated(lane) ? lane : lane + COUNT)
export const isIsolated = (lane: number): boolean => lane >= COUNT

export const ALL_LANES: readonly number[] = Array.from({ length: 2 * COUNT }, (_, lane) => lane)

const lanes = new LRUCache<string, number>(maxEntries(10_000))

/** Returns a number's lane, 0 to 63, by hash. */
export function eventLaneOf(number: string): number {
  const existing = lanes.get(number)
  if (existing !== undefined) return existing
  const lane = hash('md5', number, 'buffer').readUInt8(0) % COUNT
  lanes.set(number, lane)
  return lane
}

export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))
