/**
 * JSON as text: its value, and where members and elements stand in it, so that a piece of it can be passed on exactly as
 * it was written: parsing and serialising again would change numbers, escapes and repeated keys.
 *
 * Where places are looked for, the text must be JSON that `JSON.parse` accepts: nothing is validated there. Depth is no
 * concern, for what is passed over is counted and never descended into.
 */

/** `text.slice(start, end)`. */
export type Span = { start: number; end: number }

/** One `"name": value` of an object; `span` covers all of it. */
export type Member = { name: string; span: Span; value: Span }

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING_BRACE = 0x7b
const OPENING_BRACKET = 0x5b
/** Numbers, true, false, null: made once, since each use says where to start. */
const SCALAR = /[\w+.-]+/y

/** Deeper than any accepted body. Deeper levels are parsed by the engine. */
const READ_LEVELS = 40

/**
 * `JSON.parse`, and right also where the engine takes a name with an escape in it for another that it has read before, a
 * line feed or a quote for a backslash (nodejs/node#63785, in Node 24 to 26): texts with such names are read here.
 * Throws what `JSON.parse` throws.
 */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasEscapedName(text) ? createReader(text)(READ_LEVELS) : value
}

/** Whether a text that `JSON.parse` accepts has more than `limit` levels of objects and arrays. */
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

/** In JSON, a string before a colon is a name. */
function hasEscapedName(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = endOfString(text, at)
    if (text.charCodeAt(skipSpace(text, end)) === COLON && text.slice(at, end).includes('\\')) return true
    at = text.indexOf('"', end)
  }
  return false
}

/** Reads the values of a text one after another, each with at most this number of levels. */
function createReader(text: string): (levels: number) => unknown {
  let at = 0
  const readTo = (end: number): string => {
    const piece = text.slice(at, end)
    at = end
    return piece
  }
  /** The elements between the brackets, each read by `readNext`. */
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
    // Not by assignment: `__proto__` is a name like any other.
    return Object.fromEntries(members)
  }
  return read
}

/** The value that starts at `from` or after the white space there. */
export function valueAt(text: string, from = 0): Span {
  const start = skipSpace(text, from)
  return { start, end: endOfValue(text, start) }
}

/** The members of an object in the order of the text, a repeated name as often as it stands there. */
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

/** The places of an array's elements in `text`, in order. The text must be valid JSON. */
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

/** The member that `JSON.parse` keeps of that name: the last. */
export const findMember = (members: readonly Member[], name: string): Member | undefined =>
  members.findLast((member) => member.name === name)

/** The part of `text` at this place, unchanged. */
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
// The closing counterparts stand two places on.
const closes = (code: number): boolean => opens(code - 2)
