import type { LeftEvent, StoredEvent } from '../event-store.ts'
import { belongsToPart } from '../lane.ts'
import type { BodyReader } from './bodies/body-reader.ts'
import type { Arrived } from './routing/route-items.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

/** Per transaction; the worker rests in between. 50 messages take a few ms on the request thread. */
const ITEMS_OF_EVENT = 50

export type Owned = Arrived & { index: number }

type OpenedEvents = { owned: Owned[]; unhandled: Unhandled[]; rest: LeftEvent[] }

/** Takes up to `room` items: an equal share per number, then the remainder, so that none crowds out others. */
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

type Opening = { waiting: StoredEvent[]; taken: number; isFull: boolean }

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

/** Returns each event from its first unhandled item on. */
export function leaveFrom(owned: readonly Owned[]): LeftEvent[] {
  const left = new Map<number, LeftEvent>()
  for (const { event, index } of owned) {
    if (!left.has(event.id)) left.set(event.id, { ...event, done: index })
  }
  return [...left.values()]
}
