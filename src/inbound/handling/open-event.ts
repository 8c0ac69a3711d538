import { LRUCache } from 'lru-cache'
import type { ParsedInbound } from '../../providers/events/event-item.ts'
import type { StoredEvent } from '../event-store.ts'
import { belongsToPart } from '../ingest/accept.ts'
import type { Arrived } from './route-items.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

/** An item of a stored event, and its index among the items of that row. */
export type Owned = Arrived & { index: number }

/** `rest`: events of which items are left, as they are to be put back. */
export type OpenedEvents = { owned: Owned[]; unhandled: Unhandled[]; rest: StoredEvent[] }

/** Reads bodies; an id is the event's of which the body is. */
export type BodyReader = { parse(raw: Buffer, eventId?: number): ParsedInbound }

/** Bodies of which the items are handled in several transactions are at least this large. */
const LARGE_BYTES = 8 * 1024
const MAX_REMEMBERED_BYTES = 8 * 1024 * 1024
const REMEMBERED_MS = 10_000

/** Remembers the items of large bodies, which would otherwise be parsed again for each slice of their items. */
export function rememberLarge(reader: BodyReader): BodyReader {
  const parsed = new LRUCache<number, { items: ParsedInbound; bytes: number }>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
    ttl: REMEMBERED_MS,
  })
  return {
    parse: (raw, eventId) => {
      if (eventId === undefined || raw.length < LARGE_BYTES) return reader.parse(raw)
      const items = parsed.get(eventId)?.items ?? reader.parse(raw)
      parsed.set(eventId, { items, bytes: raw.length })
      return items
    },
  }
}

/** Items of one transaction. */
export type ItemBounds = { items: number }

/**
 * The first items of some events, each number's in order: as many of each number as all have room for, then what is left
 * of the room. A number with many items therefore takes the place of no other's.
 */
export function openEvents(reader: BodyReader, events: readonly StoredEvent[], { items }: ItemBounds): OpenedEvents {
  const numbers = [...Map.groupBy(events, ({ lane, part }) => `${lane} ${part}`).values()].map(
    (ofNumber): Opening => ({ waiting: [...ofNumber], taken: 0 }),
  )
  const opened: OpenedEvents = { owned: [], unhandled: [], rest: [] }
  const share = Math.max(1, Math.floor(items / numbers.length))
  let room = items
  for (const most of [share, items]) {
    for (const number of numbers) room -= takeItems(reader, number, Math.min(most - number.taken, room), opened)
  }
  opened.rest.push(...numbers.flatMap(({ waiting }) => waiting))
  opened.owned.sort((one, other) => one.event.id - other.event.id || one.index - other.index)
  return opened
}

/** The events of a number that are not opened to their end, and how many of its items were taken. */
type Opening = { waiting: StoredEvent[]; taken: number }

/** Returns how many items it took. */
function takeItems(reader: BodyReader, number: Opening, most: number, opened: OpenedEvents): number {
  let taken = 0
  for (let [event] = number.waiting; event !== undefined && taken < most; [event] = number.waiting) {
    const { count, next } = openEvent(reader, event, most - taken, opened)
    taken += count
    if (next === undefined) number.waiting.shift()
    else number.waiting[0] = { ...event, done: next }
  }
  number.taken += taken
  return taken
}

/**
 * Takes items that are to be handled; of those that need no handling, all on the way. Returns how many it took, and the
 * index of the first that is left.
 */
function openEvent(
  reader: BodyReader,
  event: StoredEvent,
  room: number,
  { owned, unhandled }: OpenedEvents,
): { count: number; next?: number } {
  const parsed = reader.parse(event.body, event.id)
  if (parsed.kind === 'unreadable') {
    const whole = { event, item: null, index: 0, state: 'unreadable', reason: parsed.reason } as const
    if (belongsToPart(event, null)) unhandled.push(whole)
    return { count: 1 }
  }
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  let count = 0
  for (const [index, item] of own.entries()) {
    if (index < event.done || item.kind === 'ignored') continue
    if (item.kind === 'unreadable-item') {
      unhandled.push({ event, item, index, state: 'unreadable', reason: item.reason })
      continue
    }
    if (count === room) return { count, next: index }
    owned.push({ item, receivedAt: event.receivedAt, event, index })
    count += 1
  }
  return { count }
}

/** The events of items that were not handled, each from the first of these items on. */
export function leaveFrom(owned: readonly Owned[]): StoredEvent[] {
  const left = new Map<number, StoredEvent>()
  for (const { event, index } of owned) {
    if (!left.has(event.id)) left.set(event.id, { ...event, done: index })
  }
  return [...left.values()]
}
