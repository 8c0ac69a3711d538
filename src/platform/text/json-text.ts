import type { FieldFault } from '../errors.ts'

/** Pieces are passed on exactly as written: re-serializing would change numbers, escapes and repeated keys. */

export type Span = { start: number; end: number }

export type Member = { name: string; span: Span; value: Span }

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING_BRACE = 0x7b
const OPENING_BRACKET = 0x5b
const SCALAR = /[\w+.-]+/y

/** Deeper than any accepted body. The engine parses deeper levels. */
const READ_LEVELS = 40

/** Avoids an engine bug in `JSON.parse` that confuses names with escapes (nodejs/node#63785, Node 24 to 26). */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasEscapedName(text) ? createReader(text)(READ_LEVELS) : value
}

export function hasMoreLevels(text: string, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at) - 1
    else if (opens(code)) depth += 1
    else if (closes(code)) depth -= 1
    if (depth > limit) return true
  }
  return false
}

function hasEscapedName(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = endOfString(text, at)
    if (text.charCodeAt(skipSpace(text, end)) === COLON && text.slice(at, end).includes('\\')) return true
    at = text.indexOf('"', end)
  }
  return false
}

function createReader(text: string): (levels: number) => unknown {
  let at = 0
  const readTo = (end: number): string => {
    const piece = text.slice(at, end)
    at = end
    return piece
  }
  const readAll = <Piece>(readNext: () => Piece): Piece[] => {
    const pieces: Piece[] = []
    at = skipSpace(text, at + 1)
    while (!closes(text.charCodeAt(at))) {
      pieces.push(readNext())
      at = afterComma(text, at)
    }
    at += 1
    return pieces
  }
  const read = (levels: number): unknown => {
    at = skipSpace(text, at)
    const code = text.charCodeAt(at)
    if (!opens(code) || levels === 0) return JSON.parse(readTo(endOfValue(text, at)))
    if (code === OPENING_BRACKET) return readAll(() => read(levels - 1))
    const members = readAll((): [string, unknown] => {
      const name = readName(readTo(endOfString(text, at)))
      at = skipSpace(text, at) + 1
      return [name, read(levels - 1)]
    })
    // Assignment would misread `__proto__`.
    return Object.fromEntries(members)
  }
  return read
}

/** Returns the value at `from`, after white space. */
export function valueAt(text: string, from = 0): Span {
  const start = skipSpace(text, from)
  return { start, end: endOfValue(text, start) }
}

/** Returns the members in text order, repeated names included. */
export function membersOf(text: string, object: Span): Member[] {
  const members: Member[] = []
  let at = skipSpace(text, object.start + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = endOfString(text, at)
    const value = valueAt(text, skipSpace(text, nameEnd) + 1)
    members.push({ name: readName(text.slice(at, nameEnd)), span: { start: at, end: value.end }, value })
    at = afterComma(text, value.end)
  }
  return members
}

/** Returns an array's elements in order. */
export function elementsOf(text: string, array: Span): Span[] {
  const elements: Span[] = []
  let at = skipSpace(text, array.start + 1)
  while (at < array.end - 1) {
    const element = valueAt(text, at)
    elements.push(element)
    at = afterComma(text, element.end)
  }
  return elements
}

/** Returns the last member of that name, like `JSON.parse`. */
export const findMember = (members: readonly Member[], name: string): Member | undefined =>
  members.findLast((member) => member.name === name)

export const textOf = (text: string, { start, end }: Span): string => text.slice(start, end)

export const isObjectText = (text: string, { start }: Span): boolean => text[start] === '{'
export const isArrayText = (text: string, { start }: Span): boolean => text[start] === '['

const readName = (quoted: string): string => (quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1))

function afterComma(text: string, from: number): number {
  const at = skipSpace(text, from)
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at
}

function skipSpace(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; ) {
    at += 1
    code = text.charCodeAt(at)
  }
  return at
}

function endOfValue(text: string, at: number): number {
  if (text.charCodeAt(at) === QUOTE) return endOfString(text, at)
  if (opens(text.charCodeAt(at))) return endOfContainer(text, at)
  SCALAR.lastIndex = at
  if (!SCALAR.test(text)) throw new SyntaxError('the text is not JSON')
  return SCALAR.lastIndex
}

function endOfContainer(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    at += 1
    if (opens(code)) depth += 1
    else if (closes(code)) depth -= 1
    if (depth === 0) return at
  }
  throw new SyntaxError('the text is not JSON')
}

function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); quote > 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    if ((quote - before) % 2 === 1) return quote + 1
  }
  throw new SyntaxError('the text is not JSON')
}

const opens = (code: number): boolean => code === OPENING_BRACE || code === OPENING_BRACKET
// Closing brackets are two code points after opening ones.
const closes = (code: number): boolean => opens(code - 2)

/** A double may round 16 or more digits; an exponent form is as exact as its digits. */
const LONG_INTEGER = /(?:^|[[{,:\s])-?[0-9]{16,}\s*(?:$|[\]},])/

export const mayHaveLongIntegers = (text: string): boolean => LONG_INTEGER.test(text)

export const isRounded = (value: unknown): boolean => Number.isInteger(value) && !Number.isSafeInteger(value)

/** Returns whether any integer in the text was rounded. */
export function hasRoundedInteger(text: string, root: unknown): boolean {
  if (!mayHaveLongIntegers(text)) return false
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (isRounded(value)) return true
    if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) open.push(member)
  }
  return false
}

export const MAX_DEPTH = 32

/**
 * Lists what PostgreSQL or JSON can't store, keys included: NUL, lone surrogates, numbers beyond a double, deep
 * nesting.
 */
export function textFaults(value: unknown, path: string, depth = 0): FieldFault[] {
  if (typeof value === 'string') return stringFaults(value, path)
  if (typeof value === 'number' && !Number.isFinite(value)) return [{ path, message: 'must be a finite number' }]
  if (typeof value !== 'object' || value === null) return []
  if (depth >= MAX_DEPTH) return [{ path, message: `must not nest deeper than ${MAX_DEPTH} levels` }]
  return Object.entries(value).flatMap(([key, member]) => [
    ...stringFaults(key, `${path}.${showKey(key)}`),
    ...textFaults(member, `${path}.${showKey(key)}`, depth + 1),
  ])
}

function stringFaults(text: string, path: string): FieldFault[] {
  if (text.includes('\u0000')) return [{ path, message: 'must not contain NUL (U+0000)' }]
  if (!text.isWellFormed()) return [{ path, message: 'must not contain an unpaired surrogate (U+D800 to U+DFFF)' }]
  return []
}

const showKey = (key: string): string => key.replaceAll('\u0000', '\uFFFD').toWellFormed()

/** Returns an own member; undefined for inherited ones and non-objects. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
