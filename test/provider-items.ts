import type { InboundItem } from '../src/providers/events/event-item.ts'
import { eventReader } from '../src/wiring/events/event-reader.ts'

/** Of a change that concerns a number. */
export const METADATA = { display_phone_number: '49301234567', phone_number_id: '555' }

/** The items of a body of a provider; none when it cannot be read. */
export function itemsOf(body: string | Buffer | object): InboundItem[] {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const parsed = eventReader.parse(isRaw ? body : JSON.stringify(body))
  return parsed.kind === 'items' ? parsed.items : []
}

/** The items of one change, as Meta posts it. */
export const readChange = (field: string, value: Record<string, unknown>): InboundItem[] =>
  itemsOf({ entry: [{ id: '901', time: 1760000000, changes: [{ field, value }] }] })
