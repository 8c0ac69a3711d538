import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import busboy from 'busboy'
import { AppError, badRequest } from '../../platform/errors.ts'

const MAX_PARTS = 1_000
/** The whole body is bounded. The parser itself refuses more than 16 KiB of headers in a part. */
const LIMITS = { fieldSize: Number.POSITIVE_INFINITY }
const IDENTITIES = ['7bit', '8bit', 'binary']
const REPLACEMENT = '\ufffd'

type Entry = [name: string, value: string]
type Parsed = { entries: Entry[]; emptyFiles: number }

/**
 * The names and values of a form in multipart/form-data (RFC 7578), in their order: at most 1,000 parts, each with at most
 * 16 KiB of headers. 400 for a file, but not for a file field that was left empty; 400 for what is no such form or is cut off.
 */
export async function readMultipart(contentType: string, body: Buffer): Promise<Entry[]> {
  const parts = countParts(readBoundary(contentType), body)
  if (parts === 0) throw broken('no part stands between its delimiters, in lines that end with CRLF')
  if (parts > MAX_PARTS) throw badRequest(`The form has more than ${MAX_PARTS.toLocaleString('en-US')} parts`)
  const { entries, emptyFiles } = await parse(contentType, body)
  // The parser skips what is not form-data.
  if (entries.length + emptyFiles !== parts) throw broken('a part is not form-data')
  return entries
}

const broken = (why: string) => badRequest(`The form is not valid multipart/form-data: ${why}`)

function readBoundary(contentType: string): string {
  const boundary = URL.canParse(contentType) ? null : new MIMEType(contentType).params.get('boundary')
  if (!boundary || boundary.length > 70) throw broken('its Content-Type names no boundary of 1 to 70 characters')
  return boundary
}

/** The parts before the closing delimiter. Counting ends one above the limit. */
function countParts(boundary: string, body: Buffer): number {
  const parts = `\r\n${body.toString('latin1')}`.split(`\r\n--${boundary}`, MAX_PARTS + 2).slice(1)
  const end = parts.findIndex((part) => part.startsWith('--'))
  return end === -1 ? parts.length : end
}

function parse(contentType: string, body: Buffer): Promise<Parsed> {
  const isValid = isUtf8(body)
  return new Promise((resolve, reject) => {
    const parsed: Parsed = { entries: [], emptyFiles: 0 }
    const refuse = (error: unknown) => reject(error instanceof AppError ? error : broken(String(error)))
    const parser = busboy({ headers: { 'content-type': contentType }, defParamCharset: 'utf8', limits: LIMITS })
    parser.on('field', (name, value, info) => {
      // The parser has no value for a charset that it does not know.
      const isRead = typeof value === 'string' && (isValid || !`${name}${value}`.includes(REPLACEMENT))
      if (!name) refuse(broken('a part has no name'))
      else if (!IDENTITIES.includes(info.encoding)) refuse(broken('a part has a Content-Transfer-Encoding'))
      else if (!isRead) refuse(broken('a value is not valid UTF-8, nor in the charset that its part names'))
      else parsed.entries.push([toName(name), value])
    })
    parser.on('file', (_name, stream, { filename }) => {
      // Browsers write a file field that was left empty as a file without name and content.
      if (filename) refuse(noFiles())
      stream.on('data', () => refuse(noFiles()))
      // A form that breaks off in a file fails the file as well: an error event without a listener would end the process.
      stream.on('error', refuse)
      parsed.emptyFiles += 1
    })
    parser.on('error', refuse)
    parser.on('close', () => resolve(parsed))
    parser.end(body)
  })
}

const noFiles = () => badRequest('Files are not accepted here')

/** Browsers write quotes and line ends of a name as in URLs. */
const toName = (name: string): string => name.replaceAll(/%0D/gi, '\r').replaceAll(/%0A/gi, '\n').replaceAll('%22', '"')
