import type { InboundItem, ParsedInbound } from '../../../providers/events/event-item.ts'
import type { StoredEvent } from '../../event-store.ts'
import { belongsToPart } from '../../lane.ts'

export type BodyPart = Pick<StoredEvent, 'part' | 'others' | 'done'>

export type Indexed<Item = InboundItem> = { item: Item; index: number }

export type OpenedBody<Item = InboundItem> =
  | { kind: 'unreadable'; reason: string }
  | {
      kind: 'items'
      taken: Indexed<Item>[]
      unreadable: (Indexed<Item> & { reason: string })[]
      next: number | null
    }

/** Takes up to `room` items to handle. */
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
