import type { InboundItem, ParsedInbound } from '../../../providers/events/event-item.ts'
import type { StoredEvent } from '../../event-store.ts'
import { belongsToPart } from '../../lane.ts'

/** Which items of a body an event has, and how many of them were handled. */
export type BodyPart = Pick<StoredEvent, 'part' | 'others' | 'done'>

/** An item, and its index among the items of its event. */
export type Indexed<Item = InboundItem> = { item: Item; index: number }

/** The next items of an event; of those that need no handling, all on the way. */
export type OpenedBody<Item = InboundItem> =
  | { kind: 'unreadable'; reason: string }
  | {
      kind: 'items'
      taken: Indexed<Item>[]
      unreadable: (Indexed<Item> & { reason: string })[]
      /** The index of the first item that is left; null: none is. */
      next: number | null
    }

/** Takes the next items that are to be handled, at most `room`. */
export function openBody(parsed: ParsedInbound, event: BodyPart, room: number): OpenedBody {
  if (parsed.kind === 'unreadable') return parsed
  const own = parsed.items.filter(({ route }) =>
    belongsToPart(event, route.by === 'sender' ? route.phoneNumberId : null),
  )
  const opened = { kind: 'items' as const, taken: [] as Indexed[], unreadable: [] as (Indexed & { reason: string })[] }
  for (const [index, item] of own.entries()) {
    if (index < event.done || item.kind === 'ignored') continue
    if (item.kind === 'unreadable-item') opened.unreadable.push({ item, index, reason: item.reason })
    else if (opened.taken.length === room) return { ...opened, next: index }
    else opened.taken.push({ item, index })
  }
  return { ...opened, next: null }
}
