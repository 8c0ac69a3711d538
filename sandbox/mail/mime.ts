/** A mail, read by the rules of RFC 5322, 2045 and 2047, with code that shares nothing with the sender's. */
export type ParsedMail = {
  /** In the order of their appearance, unfolded, not decoded. */
  headers: { name: string; value: string }[]
  html: string | null
  text: string | null
}

type Part = { headers: ParsedMail['headers']; body: string }

/** Parts within parts that are looked into at most. */
const MAX_DEPTH = 10

/** Reads a mail from its bytes, as one character per byte. */
export function parseMail(raw: Buffer): ParsedMail {
  const part = splitPart(raw.toString('latin1'))
  const found = { html: null, text: null }
  return { headers: part.headers, ...readBodies(part, found, 0) }
}

/** The header's values, decoded; an address header is decoded as a whole. */
export const headerValues = (mail: ParsedMail, name: string): string[] =>
  mail.headers.filter((header) => header.name.toLowerCase() === name).map(({ value }) => decodeWords(value))

function splitPart(source: string): Part {
  const end = /\r?\n\r?\n/.exec(source)
  const head = end === null ? source : source.slice(0, end.index)
  const lines = head.replaceAll(/\r?\n(?=[ \t])/g, '').split(/\r\n|\r|\n/)
  const headers = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon < 1 ? [] : [{ name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() }]
  })
  return { headers, body: end === null ? '' : source.slice(end.index + end[0].length) }
}

type Bodies = { html: string | null; text: string | null }

function readBodies(part: Part, found: Bodies, depth: number): Bodies {
  const contentType = headerOf(part, 'content-type') || 'text/plain'
  const boundary = parameterOf(contentType, 'boundary')
  if (/^multipart\//i.test(contentType) && boundary !== undefined && depth < MAX_DEPTH) {
    return splitParts(part.body, boundary).reduce((bodies, one) => readBodies(one, bodies, depth + 1), found)
  }
  const kind = /^text\/html/i.test(contentType) ? 'html' : /^text\/plain/i.test(contentType) ? 'text' : undefined
  if (kind === undefined || found[kind] !== null) return found
  return { ...found, [kind]: decodeBody(part, parameterOf(contentType, 'charset')) }
}

function splitParts(body: string, boundary: string): Part[] {
  const escaped = boundary.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return body
    .split(new RegExp(`(?:^|\\r?\\n)--${escaped}(?:--)?[ \\t]*(?:\\r?\\n|$)`))
    .slice(1, -1)
    .map(splitPart)
}

const headerOf = (part: Part, name: string): string =>
  part.headers.find((header) => header.name.toLowerCase() === name)?.value ?? ''

function parameterOf(value: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^;\\s]+))`, 'i').exec(value)
  return match?.[1] ?? match?.[2]
}

function decodeBody(part: Part, charset = 'utf-8'): string {
  const encoding = headerOf(part, 'content-transfer-encoding').toLowerCase()
  const bytes =
    encoding === 'base64'
      ? Buffer.from(part.body, 'base64')
      : encoding === 'quoted-printable'
        ? decodeQuoted(part.body.replaceAll(/[ \t]+(?=\r?\n)/g, '').replaceAll(/=\r?\n/g, ''))
        : Buffer.from(part.body, 'latin1')
  return decodeBytes(bytes, charset)
}

const decodeQuoted = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

function decodeBytes(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}

/** Encoded words (RFC 2047): blanks between two of them are none. Raw bytes are read as UTF-8. */
function decodeWords(value: string): string {
  const word = /=\?([^?]+)\?([bq])\?([^?]*)\?=/gi
  return decodeBytes(Buffer.from(value, 'latin1'), 'utf-8')
    .replaceAll(/(\?=)[ \t]+(?==\?)/g, '$1')
    .replaceAll(word, (_, charset: string, kind: string, text: string) => {
      const bytes = kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : decodeQuoted(text.replaceAll('_', ' '))
      return decodeBytes(bytes, charset)
    })
}
