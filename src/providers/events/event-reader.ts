import type { IncomingHttpHeaders } from 'node:http'
import { hasMoreLevels, isRecord } from '../../platform/text/json-text.ts'
import { digitsOf, USER_ID } from '../../platform/text/phone.ts'
import type { InboundItem, JsonObject, ParsedInbound, Placed, ReportedError, Route } from './event-item.ts'

/** Limits per posted body (decisions: Provider webhook; docs/security.md lists the responses). */

export const ITEM_LIMIT = 5_000
export const NESTING_LIMIT = 64

export const ID_LIMIT = 128
export const WAMID_LIMIT = 512
/** Message text and captions; the rest is only in `raw`. */
export const TEXT_LIMIT = 65_536
/** All other strings, such as file names and error titles. */
const WORD_LIMIT = 1_024
export const NAME_LIMIT = 256

export class BeyondBounds extends Error {}

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
  if (!isRecord(body)) return { kind: 'unreadable', reason: 'the body is not a JSON object' }
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

// The readers below return null for missing, empty or mistyped members, and clean text for Postgres.

export const EMPTY: JsonObject = Object.freeze({})

/** Parses JSON, keeping integers above 2^53 as text: providers send ids as numbers. Throws like `JSON.parse`. */
export function parseJson(text: string): unknown {
  if (!/[:[,\s]-?[0-9]{16}/.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, keepBigInteger)
  } catch (error) {
    // The reviver recurses but the parser does not; hostile nesting must not affect siblings.
    if (error instanceof RangeError) return JSON.parse(text)
    throw error
  }
}

const keepBigInteger = (_name: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?[0-9]+$/.test(context?.source ?? '')
    ? context?.source
    : value

/** Safe because names are our constants, never inherited members. */
export const memberAt = (object: JsonObject, name: string): unknown => object[name]

/** Returns the object, or an empty one. */
export function objectAt(object: JsonObject, name: string): JsonObject {
  const value = memberAt(object, name)
  return isRecord(value) ? value : EMPTY
}

/** Returns the array, or an empty one. */
export function listAt(object: JsonObject, name: string): readonly unknown[] {
  const value = memberAt(object, name)
  return Array.isArray(value) ? value : []
}

/** Returns cleaned text cut at `limit`; formats numbers. */
export function textAt(object: JsonObject, name: string, limit = WORD_LIMIT): string | null {
  const text = toText(memberAt(object, name))
  return text === null || text.length <= limit ? text : text.slice(0, limit).toWellFormed()
}

/** Returns an id, never truncated, because a cut id could be another one. @throws BeyondBounds */
export function idAt(object: JsonObject, name: string, limit: number): string | null {
  const text = toText(memberAt(object, name))
  if (text !== null && text.length > limit) throw new BeyondBounds(`${name} has more than ${limit} characters`)
  return text
}

/** Returns a string or number as clean text; null for anything else. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value === '') return null
  return cleanText(value)
}

/** Replaces NUL and unpaired surrogates, which Postgres rejects. */
export const cleanText = (text: string): string => {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole
}

/** Cleans all strings, including member names. */
export function cleanJson<Value>(value: Value): Value
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map((item) => cleanJson(item))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [cleanText(name), cleanJson(member)]))
}

/** Returns a phone number's digits; null for user ids, placeholders, or anything else with letters. */
export function phoneAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  if (text === null || !/^[+0-9 ()./-]{1,40}$/.test(text)) return null
  const digits = digitsOf(text)
  return digits.length > 0 && digits.length <= 20 ? digits : null
}

/** Returns a provider's user id: starts with a letter or digit, and is not a phone number. */
export function userIdAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  return text !== null && text.length <= 256 && /^[A-Za-z0-9]/.test(text) && /[A-Za-z]/.test(text) ? text : null
}

/** Returns a user id found in a phone field, where only the strict form counts. */
export function userIdInPlaceOfPhone(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  return text !== null && USER_ID.test(text) ? text : null
}

/** Returns whether a value nests deeper than `levels`, ignoring `passedOver`. */
export function isDeeper(value: unknown, levels: number, passedOver?: ReadonlySet<unknown>): boolean {
  if (typeof value !== 'object' || value === null || passedOver?.has(value)) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1, passedOver))
}

/** Returns `secondsAt` in ISO 8601. */
export function isoAt(object: JsonObject, name: string): string | null {
  const seconds = secondsAt(object, name)
  return seconds === null ? null : new Date(seconds * 1000).toISOString()
}

const LAST_SECOND = 253_402_300_799 // year 9999

/** Returns whole epoch seconds from seconds or milliseconds. */
export function secondsAt(object: JsonObject, name: string): number | null {
  const value = memberAt(object, name)
  if (typeof value !== 'number' && !(typeof value === 'string' && /^ *[0-9]+(\.[0-9]+)? *$/.test(value))) return null
  const number = Number(value)
  const seconds = Math.floor(number >= 1e12 ? number / 1000 : number)
  return seconds >= 0 && seconds <= LAST_SECOND ? seconds : null
}
