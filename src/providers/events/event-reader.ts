import type { IncomingHttpHeaders } from 'node:http'
import { hasMoreLevels } from '../../platform/text/json-text.ts'
import type { InboundItem, ParsedInbound, Placed, ReportedError, Route } from './event-item.ts'
import {
  BeyondBounds,
  ITEM_LIMIT,
  isDeeper,
  isObject,
  type JsonObject,
  NESTING_LIMIT,
  parseJson,
  secondsAt,
  textAt,
} from './json-member.ts'

export type EventFormat = {
  /** Returns items in order, or undefined for another format. A bad element must not affect its siblings. */
  readItems(body: JsonObject, open: OpenBody): Iterable<InboundItem> | undefined
} & Partial<RawReader>

type RawReader = {
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

/** Additions by a provider that forwards Meta's events. Functions return null without one. */
export type GraphExtension = {
  appNames: readonly string[]
  appIdName: string
  messageIdOf(status: JsonObject): string | null
  errorOf(status: JsonObject): ReportedError | null
}

export type EventReader = RawReader & {
  /** Splits a body into items, in order (decisions: Provider-facing webhook). Never throws. */
  parse(raw: Buffer | string): ParsedInbound
}

/** Creates a reader that uses the first matching format. */
export const createEventReader = (formats: readonly EventFormat[]): EventReader => ({
  parse: (raw) => parse(formats, raw),
  idsOf: (raw) => {
    const ids = formats.map(({ idsOf = noIds }) => idsOf(raw))
    return ids.includes(undefined) ? undefined : new Set(ids.flatMap((some) => [...(some ?? [])]))
  },
  routeKeys: (raw, limit) =>
    new Set(formats.flatMap(({ routeKeys = noIds }) => [...routeKeys(raw, limit)]).slice(0, limit)),
  signatureOf: (headers) =>
    formats.map(({ signatureOf }) => signatureOf?.(headers) ?? null).find((signature) => signature !== null) ?? null,
})

const noIds = () => new Set<string>()

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

export const TOO_DEEP = `more than ${NESTING_LIMIT} levels`

export const NOWHERE: Route = { by: 'nothing' }

/** Removes the route: an oversized id must not reach the database or leave the choice to other ids. */
export const placeNowhere = (placed: Placed): Placed => ({ ...placed, route: NOWHERE })

/** Places a whole body as one item. */
export const placeWhole = (text: string): Placed => ({
  key: 'body',
  position: { group: 'body', index: 0 },
  field: null,
  route: NOWHERE,
  timestamp: null,
  raw: () => text,
})

/** Stands in for an unreadable element, stored with the reason. */
export const unreadable = (placed: Placed, reason: string): InboundItem => ({
  ...placed,
  kind: 'unreadable-item',
  reason,
})

/** Returns what `read` returns, or one unreadable item. */
export function guarded<Read>(place: () => Placed, read: () => Read): Read | InboundItem[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof BeyondBounds) return [unreadable(placeNowhere(place()), error.message)]
    return [unreadable(place(), 'its members could not be read')]
  }
}
