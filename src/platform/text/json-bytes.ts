/** The visitor of a walk: of the objects, arrays and names that lie no deeper than `levels`. False ends the walk. */
export type JsonVisitor = {
  levels: number
  opened(depth: number, isArray: boolean): boolean
  closed(depth: number): void
  /** A name of an object at this depth. `raw` has its quotes at `start` and before `end`, and its value at `value`. */
  named(depth: number, start: number, end: number, hasEscape: boolean, value: number): boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LONGEST_NUMBER = 128

/**
 * Walks once over bytes that may be JSON, without parsing or checking them: what `JSON.parse` finds in them is visited,
 * in their order. Takes about 3 ns for any byte. Returns false when the visitor ended it.
 */
export function walkJson(raw: Buffer, visitor: JsonVisitor): boolean {
  const { length } = raw
  const { levels } = visitor
  let depth = 0
  for (let at = 0; at < length; at += 1) {
    const byte = raw[at]
    if (byte === 0x7b || byte === 0x5b) {
      depth += 1
      if (depth <= levels && !visitor.opened(depth, byte === 0x5b)) return false
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth <= levels) visitor.closed(depth)
      depth -= 1
    }
    if (byte !== QUOTE) continue
    const start = at
    let hasEscape = false
    for (at += 1; at < length && raw[at] !== QUOTE; at += 1) {
      if (raw[at] !== BACKSLASH) continue
      hasEscape = true
      at += 1
    }
    if (depth > levels) continue
    const colon = skipSpace(raw, at + 1)
    if (colon >= length || raw[colon] !== COLON) continue
    if (!visitor.named(depth, start, at + 1, hasEscape, skipSpace(raw, colon + 1))) return false
  }
  return true
}

/** Whether the bytes can be an object to the parser of providers' bodies, which passes over a byte order mark. */
export function mayBeObject(raw: Buffer): boolean {
  const hasMark = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf
  return raw[skipSpace(raw, hasMark ? 3 : 0)] === 0x7b
}

/** Whether the string between these places is this text, written without escapes. */
export function isTextAt(raw: Buffer, start: number, end: number, text: Buffer): boolean {
  if (end - start - 2 !== text.length) return false
  for (let at = 0; at < text.length; at += 1) if (raw[start + 1 + at] !== text[at]) return false
  return true
}

/** The text of the string that starts here; undefined when it is none, or has more bytes with its quotes. */
export function stringAt(raw: Buffer, start: number, mostBytes: number): string | undefined {
  if (raw[start] !== QUOTE) return undefined
  let end = start + 1
  while (end < raw.length && raw[end] !== QUOTE && end - start < mostBytes) end += raw[end] === BACKSLASH ? 2 : 1
  if (raw[end] !== QUOTE || end + 1 - start > mostBytes) return undefined
  const quoted = raw.toString('utf8', start, end + 1)
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return undefined
  }
}

/** The characters of the number that starts here; empty when there is none, undefined when they are more than 128. */
export function numberAt(raw: Buffer, start: number): string | undefined {
  let end = start
  while (end < raw.length && isOfNumber(raw[end] ?? 0)) end += 1
  return end - start > LONGEST_NUMBER ? undefined : raw.toString('latin1', start, end)
}

function skipSpace(raw: Buffer, from: number): number {
  let at = from
  while (at < raw.length && (raw[at] === 0x20 || raw[at] === 0x0a || raw[at] === 0x0d || raw[at] === 0x09)) at += 1
  return at
}

const isOfNumber = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65
