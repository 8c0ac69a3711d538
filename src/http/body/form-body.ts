import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import busboy from 'busboy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, badRequest } from '../../platform/errors.ts'
import { requireUtf8Charset } from './input.ts'

type Entries = Iterable<readonly [string, string]>
type ReadForm = (entries: Entries) => Record<string, unknown>

/** Accepts both form encodings as the equivalent JSON body; 400 for files, malformed forms and invalid UTF-8. */
export async function acceptForms(app: FastifyInstance, readForm: ReadForm): Promise<void> {
  const accept = (type: string, read: (body: Buffer, contentType: string) => Entries | Promise<Entries>) =>
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      requireUtf8Charset(request)
      return readForm(await read(body, String(request.headers['content-type'])))
    })
  accept('application/x-www-form-urlencoded', readUrlEncoded)
  accept('multipart/form-data', (body, contentType) => readMultipart(contentType, body))
}

function readUrlEncoded(body: Buffer): Entries {
  if (!isUtf8(decodePercents(body))) throw badRequest('The form is not valid UTF-8')
  return new URLSearchParams(body.toString('utf8'))
}

const decodePercents = (body: Buffer): Buffer =>
  Buffer.from(
    body.toString('latin1').replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

const MAX_PARTS = 1_000
/** The body limit applies; busboy itself rejects part headers over 16 KiB. */
const LIMITS = { fieldSize: Number.POSITIVE_INFINITY }
const IDENTITIES = ['7bit', '8bit', 'binary']
const REPLACEMENT = '\ufffd'

type Entry = [name: string, value: string]
type Parsed = { entries: Entry[]; emptyFiles: number }

/**
 * Parses multipart/form-data (RFC 7578): at most 1,000 parts, with at most 16 KiB of headers each. Throws 400 for files
 * (except empty file fields) and for malformed or truncated forms.
 */
export async function readMultipart(contentType: string, body: Buffer): Promise<Entry[]> {
  const parts = countParts(readBoundary(contentType), body)
  if (parts === 0) throw broken('no part stands between its delimiters, in lines that end with CRLF')
  if (parts > MAX_PARTS) throw badRequest(`The form has more than ${MAX_PARTS.toLocaleString('en-US')} parts`)
  const { entries, emptyFiles } = await parse(contentType, body)
  // The parser skips parts other than form-data.
  if (entries.length + emptyFiles !== parts) throw broken('a part is not form-data')
  return entries
}

const broken = (why: string) => badRequest(`The form is not valid multipart/form-data: ${why}`)

function readBoundary(contentType: string): string {
  const boundary = URL.canParse(contentType) ? null : new MIMEType(contentType).params.get('boundary')
  if (!boundary || boundary.length > 70) throw broken('its Content-Type names no boundary of 1 to 70 characters')
  return boundary
}

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
      // busboy passes no value for an unknown charset.
      const isRead = typeof value === 'string' && (isValid || !`${name}${value}`.includes(REPLACEMENT))
      if (!name) refuse(broken('a part has no name'))
      else if (!IDENTITIES.includes(info.encoding)) refuse(broken('a part has a Content-Transfer-Encoding'))
      else if (!isRead) refuse(broken('a value is not valid UTF-8, nor in the charset that its part names'))
      else parsed.entries.push([toName(name), value])
    })
    parser.on('file', (_name, stream, { filename }) => {
      // Browsers send an empty file field as a file without name and content.
      if (filename) refuse(noFiles())
      stream.on('data', () => refuse(noFiles()))
      // A form truncated inside a file fails this stream, too; without a listener the error would crash the process.
      stream.on('error', refuse)
      parsed.emptyFiles += 1
    })
    parser.on('error', refuse)
    parser.on('close', () => resolve(parsed))
    parser.end(body)
  })
}

const noFiles = () => badRequest('Files are not accepted here')

/** Browsers percent-encode quotes and line breaks in names. */
const toName = (name: string): string => name.replaceAll(/%0D/gi, '\r').replaceAll(/%0A/gi, '\n').replaceAll('%22', '"')
