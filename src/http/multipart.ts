import { isUtf8 } from 'node:buffer'
import { badRequest } from '../errors.ts'

/** 1 to 70 characters, the last of them no blank (RFC 2046, 5.1.1). */
const BOUNDARY = /^[\x20-\x7e]{0,69}[\x21-\x7e]$/
const IDENTITIES = new Set(['', '7bit', '8bit', 'binary'])

/** A part as it stands in the body: one character for each byte. */
type Part = { head: string; content: string }

/**
 * The names and values of a form in multipart/form-data (RFC 7578), in their order. Takes what programs write, not only
 * browsers: any boundary, lines that end with LF alone, words before the first part and after the last, charsets. 400
 * for a file, but not for a file field that was left empty; 400 for what is no such form or is cut off.
 */
export function readMultipart(contentType: string, body: Buffer): [name: string, value: string][] {
  const boundary = parameterOf(contentType, 'boundary') ?? ''
  if (!BOUNDARY.test(boundary)) throw broken('its Content-Type names no boundary of 1 to 70 characters')
  return splitParts(body.toString('latin1'), boundary).flatMap(readPart)
}

const broken = (why: string) => badRequest(`The form is not valid multipart/form-data: ${why}`)

/** Every delimiter is looked for once: time in proportion to the length. */
function splitParts(source: string, boundary: string): Part[] {
  const delimiter = `--${boundary}`
  const parts: Part[] = []
  let start: number | undefined
  for (let at = source.indexOf(delimiter); at !== -1; at = source.indexOf(delimiter, at + 1)) {
    const after = at + delimiter.length
    const isLast = source.startsWith('--', after)
    const next = lineEnd(source, isLast ? after + 2 : after)
    if ((at > 0 && source[at - 1] !== '\n') || next === undefined) continue
    if (start !== undefined) parts.push(cutPart(source.slice(start, at)))
    if (isLast) return parts
    start = next
  }
  throw broken(start === undefined ? 'there is no part in it' : 'its end is missing')
}

/** Where the next line begins, or the end is, when nothing but blanks is left on this one. */
function lineEnd(source: string, from: number): number | undefined {
  const rest = /[ \t]*(?:\r?\n|$)/y
  rest.lastIndex = from
  return rest.test(source) ? rest.lastIndex : undefined
}

/** What stands between two delimiters; the line end before the second is its own. */
function cutPart(between: string): Part {
  const text = between.replace(/\r?\n$/, '')
  if (/^\r?\n/.test(between)) return { head: '', content: text.replace(/^\r?\n/, '') }
  const blank = /\r?\n\r?\n/.exec(between)
  if (blank === null) throw broken('a part has no empty line after its headers')
  return { head: between.slice(0, blank.index), content: text.slice(blank.index + blank[0].length) }
}

function readPart({ head, content }: Part): [name: string, value: string][] {
  const headers = readHeaders(head)
  const disposition = headers.get('content-disposition') ?? ''
  const name = /^form-data\s*;/i.test(disposition) ? parameterOf(disposition, 'name') : undefined
  if (name === undefined) throw broken('a part has no name')
  const file = parameterOf(disposition, 'filename') ?? parameterOf(disposition, 'filename*')
  // A browser writes this for an empty file field.
  if (file === '' && content === '') return []
  if (file !== undefined) throw badRequest('Files are not accepted here')
  if (!IDENTITIES.has((headers.get('content-transfer-encoding') ?? '').toLowerCase())) {
    throw broken('a part has a Content-Transfer-Encoding')
  }
  return [[toName(name), decode(content, charsetOf(headers.get('content-type') ?? ''))]]
}

function readHeaders(head: string): Map<string, string> {
  const lines = head.replaceAll(/\r?\n(?=[ \t])/g, '').split(/\r?\n/)
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

/** A parameter of a header, in quotes or bare; a quote within quotes stands behind a backslash. */
function parameterOf(header: string, name: string): string | undefined {
  const parameter = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:\\"|[^"])*)"|([^\s;"]*))/g
  for (const [, key = '', quoted, bare] of header.matchAll(parameter)) {
    if (key.toLowerCase() === name) return quoted ?? bare ?? ''
  }
  return undefined
}

const charsetOf = (contentType: string): string => parameterOf(contentType, 'charset') ?? 'utf-8'

/** Browsers write quotes and line ends of a name as in URLs, other programs put a backslash before a quote. */
const toName = (name: string): string =>
  decode(name, 'utf-8')
    .replaceAll('\\"', '"')
    .replaceAll(/%0D/gi, '\r')
    .replaceAll(/%0A/gi, '\n')
    .replaceAll('%22', '"')

function decode(text: string, charset: string): string {
  const bytes = Buffer.from(text, 'latin1')
  if (/^utf-?8$/i.test(charset)) {
    if (isUtf8(bytes)) return bytes.toString('utf8')
    throw broken('it is not valid UTF-8')
  }
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    throw broken(`a part is not valid ${charset.slice(0, 40)}`)
  }
}
