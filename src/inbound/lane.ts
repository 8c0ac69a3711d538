import { hash } from 'node:crypto'

/** Number of lanes. A number's hash selects a lane; each lane has one worker at a time. */
const COUNT = 64

/** Returns the matching isolated lane, where events can't delay other numbers. */
export const isolatedLane = (lane: number): number => (isIsolated(lane) ? lane : lane + COUNT)
export const isIsolated = (lane: number): boolean => lane >= COUNT

export const ALL_LANES: readonly number[] = Array.from({ length: 2 * COUNT }, (_, lane) => lane)

/** Returns the lane of a number's events, 0 to 63, by a hash of the id in the event body. */
export const eventLaneOf = (number: string): number => hash('md5', number, 'buffer').readUInt8(0) % COUNT

export const belongsToPart = (
  event: { part: string; others: readonly string[] },
  phoneNumberId: string | null,
): boolean => phoneNumberId === event.part || (event.others[0] !== '*' && !event.others.includes(phoneNumberId ?? ''))
