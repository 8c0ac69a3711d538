import { digitsOf, USER_ID } from '../../platform/text/phone.ts'
import { BeyondBounds, WORD_LIMIT } from './bounds.ts'

/**
 * Readers for untrusted JSON. Each returns null if the value is absent, empty or of another type; none throws. Text is
 * cleaned of what PostgreSQL refuses (NUL, lone surrogates).
 */
export type JsonObject = Record<string, unknown>

export const EMPTY: JsonObject = Object.freeze({})

/** Whether a parsed value is a JSON object, so neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `JSON.parse` that keeps integers above 2^53 as the text they were written in: providers write ids as numbers.
 * Throws like `JSON.parse`.
 */
export function parseJson(text: string): unknown {
  if (!/[:[,\s]-?[0-9]{16}/.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, keepBigInteger)
  } catch (error) {
    // The reviver descends by recursion, the parser does not: hostile depth must not cost the siblings.
    if (error instanceof RangeError) return JSON.parse(text)
    throw error
  }
}

const keepBigInteger = (_name: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?[0-9]+$/.test(context?.source ?? '')
    ? context?.source
    : value

/** The value of any type. The name is a constant of ours and never the body's, so it names no inherited member. */
export const memberAt = (object: JsonObject, name: string): unknown => object[name]

/** The object there, or an empty one. */
export function objectAt(object: JsonObject, name: string): JsonObject {
  const value = memberAt(object, name)
  return isObject(value) ? value : EMPTY
}

/** The array there, or an empty one. */
export function listAt(object: JsonObject, name: string): readonly unknown[] {
  const value = memberAt(object, name)
  return Array.isArray(value) ? value : []
}

/** Cleaned text, never empty, truncated to `limit` characters; a number as its digits. */
export function textAt(object: JsonObject, name: string, limit = WORD_LIMIT): string | null {
  const text = toText(memberAt(object, name))
  return text === null || text.length <= limit ? text : text.slice(0, limit).toWellFormed()
}

/**
 * An id, which is never truncated: the result would be another id.
 *
 * @throws BeyondBounds when it has more than `limit` characters.
 */
export function idAt(object: JsonObject, name: string, limit: number): string | null {
  const text = toText(memberAt(object, name))
  if (text !== null && text.length > limit) throw new BeyondBounds(`${name} has more than ${limit} characters`)
  return text
}

/** A string or number as storable text; null for everything else, and for the empty string. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value === '') return null
  return cleanText(value)
}

/** Makes text storable: NUL and unpaired surrogates become U+FFFD. */
export const cleanText = (text: string): string => {
  const whole = text.isWellFormed() ? text : text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole
}

/** A parsed value with every text in it storable, names included. */
export function cleanJson<Value>(value: Value): Value
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map((item) => cleanJson(item))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [cleanText(name), cleanJson(member)]))
}

/** Digits of a phone number written in any way; null for a user id, a placeholder, or anything else with letters. */
export function phoneAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  if (text === null || !/^[+0-9 ()./-]{1,40}$/.test(text)) return null
  const digits = digitsOf(text)
  return digits.length > 0 && digits.length <= 20 ? digits : null
}

/** A provider's user id. Any form that is no phone number and starts with a letter or a digit. */
export function userIdAt(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  return text !== null && text.length <= 256 && /^[A-Za-z0-9]/.test(text) && /[A-Za-z]/.test(text) ? text : null
}

/** A user id that stands where a phone number was expected: there only its strict form counts. */
export function userIdInPlaceOfPhone(object: JsonObject, name: string): string | null {
  const text = textAt(object, name)
  return text !== null && USER_ID.test(text) ? text : null
}

/** Whether a value has more than `levels` levels of objects and arrays, apart from those values that are passed over. */
export function isDeeper(value: unknown, levels: number, passedOver?: ReadonlySet<unknown>): boolean {
  if (typeof value !== 'object' || value === null || passedOver?.has(value)) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1, passedOver))
}

/** The time of `secondsAt` in ISO 8601. */
export function isoAt(object: JsonObject, name: string): string | null {
  const seconds = secondsAt(object, name)
  return seconds === null ? null : new Date(seconds * 1000).toISOString()
}

const LAST_SECOND = 253_402_300_799 // of the year 9999

/** Whole epoch seconds out of seconds or milliseconds, number or digits; null for anything else. */
export function secondsAt(object: JsonObject, name: string): number | null {
  const value = memberAt(object, name)
  if (typeof value !== 'number' && !(typeof value === 'string' && /^ *[0-9]+(\.[0-9]+)? *$/.test(value))) return null
  const number = Number(value)
  const seconds = Math.floor(number >= 1e12 ? number / 1000 : number)
  return seconds >= 0 && seconds <= LAST_SECOND ? seconds : null
}
