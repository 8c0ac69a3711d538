import type { EventReader } from '../../providers/events/event-reader.ts'
import type { StoredEvent } from '../event-store.ts'
import { belongsToPart } from '../ingest/accept.ts'
import type { Unhandled } from './keep-unhandled.ts'
import type { Arrived } from './route-items.ts'

/** An item of a stored event, and its index among the items of that row. */
export type Owned = Arrived & { index: number }

/** `rest`: events of which items are left, as they are to be put back. */
export type OpenedEvents = { owned: Owned[]; unhandled: Unhandled[]; rest: StoredEvent[] }

/** The first `limit` items of some events, in order. */
export function openEvents(
  reader: Pick<EventReader, 'parse'>,
  events: readonly StoredEvent[],
  limit: number,
): OpenedEvents {
  const opened: OpenedEvents = { owned: [], unhandled: [], rest: [] }
  let room = limit
  for (const event of events) {
    if (room > 0) room -= openEvent(reader, event, room, opened)
    else opened.rest.push(event)
  }
  return opened
}

/** Returns how many items it took that are to be handled. Of those that need no handling it takes all on the way. */
function openEvent(
  reader: Pick<EventReader, 'parse'>,
  event: StoredEvent,
  room: number,
  { owned, unhandled, rest }: OpenedEvents,
): number {
  const parsed = reader.parse(event.body)
  if (parsed.kind === 'unreadable') {
    const whole = { event, item: null, index: 0, state: 'unreadable', reason: parsed.reason } as const
    if (belongsToPart(event, null)) unhandled.push(whole)
    return 1
  }
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  let taken = 0
  for (const [index, item] of own.entries()) {
    if (index < event.done || item.kind === 'ignored') continue
    if (item.kind === 'unreadable-item') {
      unhandled.push({ event, item, index, state: 'unreadable', reason: item.reason })
      continue
    }
    if (taken === room) {
      rest.push({ ...event, done: index })
      break
    }
    owned.push({ item, receivedAt: event.receivedAt, event, index })
    taken += 1
  }
  return taken
}

/** The events of items that were not handled, each from the first of these items on. */
export function leaveFrom(owned: readonly Owned[]): StoredEvent[] {
  const left = new Map<number, StoredEvent>()
  for (const { event, index } of owned) {
    if (!left.has(event.id)) left.set(event.id, { ...event, done: index })
  }
  return [...left.values()]
}
