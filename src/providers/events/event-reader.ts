import type { IncomingHttpHeaders } from 'node:http'
import { hasMoreLevels } from '../../platform/text/json-text.ts'
import { ITEM_LIMIT, NESTING_LIMIT } from './bounds.ts'
import type { InboundItem, ParsedInbound } from './event-item.ts'
import { isDeeper, isObject, type JsonObject, parseJson, secondsAt, textAt } from './json-member.ts'
import { guarded, placeWhole, TOO_DEEP } from './unreadable.ts'

/** How a kind of provider writes and signs its events. Every format reads bodies of the same address. */
export type EventFormat = {
  /**
   * The items of a body in this format, in order; undefined for a body in another one. Each item stands alone: an element
   * that cannot be read becomes an `unreadable-item`, and its siblings are read all the same.
   */
  readItems(body: JsonObject, open: OpenBody): Iterable<InboundItem> | undefined
  /** The numbers that a body names, found in its bytes, which may not be JSON: their events are handled in order. */
  routeKeys(raw: Buffer, limit: number): ReadonlySet<string>
  /**
   * All numbers, accounts and apps by which items of a body may find their senders, found in its bytes without parsing
   * them; undefined if they are too many.
   */
  idsOf(raw: Buffer): ReadonlySet<string> | undefined
  /** The provider's HMAC-SHA256 over the raw bytes, made with the app secret; null if the request has none. */
  signatureOf(headers: IncomingHttpHeaders): Buffer | null
}

/** State that the items of one body share. */
type OpenBody = {
  text: string
  /** The elements found to be too deep; undefined if nothing in the body is. */
  deep: Set<unknown> | undefined
  /** How many items were read so far. */
  itemCount: () => number
}

export type EventReader = {
  /**
   * Splits a provider's body into its items, in the order of the body (decisions: Provider-facing webhook). Items that ask
   * nothing of the service become `ignored`. A body beyond its bounds is unreadable as a whole. Never throws.
   */
  parse(raw: Buffer | string): ParsedInbound
  /** See `EventFormat.routeKeys`; at most `limit` of them. */
  routeKeys(raw: Buffer, limit: number): ReadonlySet<string>
  /** See `EventFormat.idsOf`. */
  idsOf(raw: Buffer): ReadonlySet<string> | undefined
  /** See `EventFormat.signatureOf`. */
  signatureOf(headers: IncomingHttpHeaders): Buffer | null
}

/** Reads bodies in any of the formats; the first that knows a body reads it. */
export const createEventReader = (formats: readonly EventFormat[]): EventReader => ({
  parse: (raw) => parse(formats, raw),
  idsOf: (raw) => {
    const ids = formats.map((format) => format.idsOf(raw))
    return ids.includes(undefined) ? undefined : new Set(ids.flatMap((some) => [...(some ?? [])]))
  },
  routeKeys: (raw, limit) => new Set(formats.flatMap((format) => [...format.routeKeys(raw, limit)]).slice(0, limit)),
  signatureOf: (headers) =>
    formats.map((format) => format.signatureOf(headers)).find((signature) => signature !== null) ?? null,
})

function parse(formats: readonly EventFormat[], raw: Buffer | string): ParsedInbound {
  let text: string
  let body: unknown
  try {
    text = (typeof raw === 'string' ? raw : raw.toString('utf8')).replace(/^\uFEFF/, '')
    body = parseJson(text)
  } catch {
    return { kind: 'unreadable', reason: 'the body is not JSON' }
  }
  if (!isObject(body)) return { kind: 'unreadable', reason: 'the body is not a JSON object' }
  const deep = hasMoreLevels(text, NESTING_LIMIT) ? new Set<unknown>() : undefined
  const items: InboundItem[] = []
  for (const item of readItems(formats, body, { text, deep, itemCount: () => items.length })) {
    if (items.length === ITEM_LIMIT) return { kind: 'unreadable', reason: `more than ${ITEM_LIMIT} items` }
    items.push(item)
  }
  if (deep !== undefined && isDeeper(body, NESTING_LIMIT, deep)) return { kind: 'unreadable', reason: TOO_DEEP }
  return { kind: 'items', items }
}

function readItems(formats: readonly EventFormat[], body: JsonObject, open: OpenBody): Iterable<InboundItem> {
  const placed = placeWhole(open.text)
  return guarded(
    () => placed,
    () => {
      for (const format of formats) {
        const items = format.readItems(body, open)
        if (items !== undefined) return items
      }
      const field = textAt(body, 'event') ?? textAt(body, 'type')
      const timestamp = secondsAt(body, 'timestamp')
      return [{ ...placed, field, timestamp, kind: 'ignored', reason: 'a body in no known format' }]
    },
  )
}
