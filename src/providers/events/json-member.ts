import { digitsOf, USER_ID } from '../../platform/text/phone.ts'

/**
 * Readers for untrusted JSON; null if missing, empty or mistyped. Text is cleaned for Postgres (NUL, lone surrogates).
 */
export type JsonObject = Record<string, unknown>

export const EMPTY: JsonObject = Object.freeze({})

/** Returns whether a value is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
  return isObject(value) ? value : EMPTY
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
  if (!isObject(value)) return value
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
