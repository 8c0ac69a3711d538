import { LRUCache } from 'lru-cache'
import type { ParsedInbound } from '../../../providers/events/event-item.ts'
import type { EventReader } from '../../../providers/events/event-reader.ts'

/** Smaller bodies are handled in a single transaction. */
const LARGE_BYTES = 8 * 1024
export const MAX_REMEMBERED_BYTES = 8 * 1024 * 1024
export const REMEMBERED_MS = 10_000

/** Caches parsed large bodies, which would otherwise be parsed again per transaction. */
export function rememberLarge(reader: Pick<EventReader, 'parse'>): {
  parse(raw: Buffer, eventId: number): ParsedInbound
} {
  const parsed = new LRUCache<number, { items: ParsedInbound; bytes: number }>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
    ttl: REMEMBERED_MS,
  })
  return {
    parse: (raw, eventId) => {
      if (raw.length < LARGE_BYTES) return reader.parse(raw)
      const known = parsed.get(eventId)
      // After a database crash an id may belong to another event.
      const items = known?.bytes === raw.length ? known.items : reader.parse(raw)
      parsed.set(eventId, { items, bytes: raw.length })
      return items
    },
  }
}
