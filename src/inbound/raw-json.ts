/**
 * Finds where members and elements stand in JSON text, so that a piece of it can be handed on exactly as it was
 * written: parsing and serialising again would change numbers, escapes and repeated keys.
 *
 * The text must be JSON that `JSON.parse` accepts: nothing is validated here. Depth is no concern, for what is passed
 * over is counted and never descended into.
 */

/** `text.slice(start, end)`. */
export type Span = { start: number; end: number }

/** One `"name": value` of an object; `span` covers all of it. */
export type Member = { name: string; span: Span; value: Span }

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

/** The value that begins at `from` or after the white space there. */
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

/** The elements of an array. */
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
  const scalar = /[\w+.-]+/y
  scalar.lastIndex = at
  if (!scalar.test(text)) throw new SyntaxError('the text is not JSON')
  return scalar.lastIndex
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

// { is 0x7b and [ is 0x5b; their closing counterparts stand two places on
const opens = (code: number): boolean => code === 0x7b || code === 0x5b
const closes = (code: number): boolean => code === 0x7d || code === 0x5d
