import type { LeftEvent, StoredEvent } from '../event-store.ts'
import { belongsToPart } from '../lane.ts'
import type { BodyReader } from './bodies/body-reader.ts'
import type { Arrived } from './routing/route-items.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

/**
 * Items of one event in a transaction. More are left to the next ones, between which the worker rests: 50 messages take the thread
 * that answers requests some milliseconds at a time.
 */
const ITEMS_OF_EVENT = 50

/** An item of a stored event, and its index among the items of that row. */
export type Owned = Arrived & { index: number }

/** `rest`: events of which items are left. */
type OpenedEvents = { owned: Owned[]; unhandled: Unhandled[]; rest: LeftEvent[] }

/**
 * The first items of some events, at most `room`, each number's in order: as many of each number as all have room for, then
 * what is left of it. A number with many items therefore takes the place of no other's.
 */
export async function openEvents(
  reader: Pick<BodyReader, 'open'>,
  events: readonly StoredEvent[],
  room: number,
): Promise<OpenedEvents> {
  const numbers = [...Map.groupBy(events, ({ lane, part }) => `${lane} ${part}`).values()].map(
    (ofNumber): Opening => ({ waiting: [...ofNumber], taken: 0, isFull: false }),
  )
  const opened: OpenedEvents = { owned: [], unhandled: [], rest: [] }
  const share = Math.max(1, Math.floor(room / numbers.length))
  let left = room
  for (const most of [share, room]) {
    for (const number of numbers) left -= await takeItems(reader, number, Math.min(most - number.taken, left), opened)
  }
  opened.rest.push(...numbers.flatMap(({ waiting }) => waiting))
  opened.owned.sort((one, other) => one.event.id - other.event.id || one.index - other.index)
  return opened
}

/** The events of a number that are not opened to their end, and how many of its items were taken. `isFull`: no more are. */
type Opening = { waiting: StoredEvent[]; taken: number; isFull: boolean }

/** Returns how many items it took. */
async function takeItems(
  reader: Pick<BodyReader, 'open'>,
  number: Opening,
  most: number,
  opened: OpenedEvents,
): Promise<number> {
  let taken = 0
  for (let [event] = number.waiting; event !== undefined && taken < most && !number.isFull; [event] = number.waiting) {
    const room = Math.min(most - taken, ITEMS_OF_EVENT)
    const { count, next } = await openEvent(reader, event, room, opened)
    taken += count
    number.isFull = count === ITEMS_OF_EVENT && next !== null
    if (next === null) number.waiting.shift()
    else number.waiting[0] = { ...event, done: next }
  }
  number.taken += taken
  return taken
}

/** Takes the next items of an event. Returns how many are to be handled, and the index of the first that is left. */
async function openEvent(
  reader: Pick<BodyReader, 'open'>,
  event: StoredEvent,
  room: number,
  { owned, unhandled }: OpenedEvents,
): Promise<{ count: number; next: number | null }> {
  const body = await reader.open(event, room)
  if (body.kind === 'unreadable') {
    const whole = { event, item: null, index: 0, state: 'unreadable', reason: body.reason } as const
    if (belongsToPart(event, null)) unhandled.push(whole)
    return { count: 1, next: null }
  }
  for (const one of body.unreadable) unhandled.push({ event, ...one, state: 'unreadable' })
  for (const one of body.taken) owned.push({ ...one, receivedAt: event.receivedAt, event })
  return { count: body.taken.length, next: body.next }
}

/** The events of items that were not handled, each from the first of these items on. */
export function leaveFrom(owned: readonly Owned[]): LeftEvent[] {
  const left = new Map<number, LeftEvent>()
  for (const { event, index } of owned) {
    if (!left.has(event.id)) left.set(event.id, { ...event, done: index })
  }
  return [...left.values()]
}
