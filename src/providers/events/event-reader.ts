import type { IncomingHttpHeaders } from 'node:http'
import { hasMoreLevels } from '../../platform/text/json-text.ts'
import { ITEM_LIMIT, NESTING_LIMIT } from './bounds.ts'
import type { InboundItem, ParsedInbound } from './event-item.ts'
import { isDeeper, isObject, type JsonObject, parseJson, secondsAt, textAt } from './json-member.ts'
import { guarded, placeWhole, TOO_DEEP } from './unreadable.ts'

export type EventFormat = {
  /** Returns items in order, or undefined for another format. A bad element must not affect its siblings. */
  readItems(body: JsonObject, open: OpenBody): Iterable<InboundItem> | undefined
  /** Finds numbers in the raw bytes, which may not be JSON. Their events are handled in order. */
  routeKeys(raw: Buffer, limit: number): ReadonlySet<string>
  /** Finds all sender, account and app ids in the raw bytes; undefined if too many. */
  idsOf(raw: Buffer): ReadonlySet<string> | undefined
  /** Returns the app-secret HMAC-SHA256 over the raw bytes. */
  signatureOf(headers: IncomingHttpHeaders): Buffer | null
}

type OpenBody = {
  text: string
  deep: Set<unknown> | undefined
  itemCount: () => number
}

export type EventReader = {
  /** Splits a body into items, in order (decisions: Provider-facing webhook). Never throws. */
  parse(raw: Buffer | string): ParsedInbound
  routeKeys(raw: Buffer, limit: number): ReadonlySet<string>
  idsOf(raw: Buffer): ReadonlySet<string> | undefined
  signatureOf(headers: IncomingHttpHeaders): Buffer | null
}

/** Creates a reader that uses the first matching format. */
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
