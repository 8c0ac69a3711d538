import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { piecesOf } from '../../../platform/files/pieces-of.ts'
import { codeOf } from '../../../platform/start-error.ts'

const ENCODINGS = ['br', 'gzip', 'identity'] as const
type Encoding = (typeof ENCODINGS)[number]

export type StaticFile = {
  readonly contentType: string
  readonly digest: string
  readonly bodies: Readonly<Partial<Record<Encoding, Uint8Array>> & { identity: Uint8Array }>
}

export const REVALIDATE = 'no-cache'
export const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Maximum buffered per slow connection; under TLS, encryption copies each chunk. */
const CHUNK_BYTES = 64 * 1024
/** Level 5 takes 0.2 s for 4.3 MB and saves 75 %; level 9 takes 0.8 s and saves 76 %. */
const BROTLI_QUALITY = 5

export const versionOf = (file: StaticFile): string => file.digest.slice(0, 16)

export async function toStaticFile(contentType: string, content: Uint8Array): Promise<StaticFile> {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(content, quality), promisify(gzip)(content)])
  return { contentType, digest: digestOf(content), bodies: { br, gzip: gzipped, identity: content } }
}

export async function readStaticFile(contentType: string, path: string): Promise<StaticFile | undefined> {
  const [content, br, gzipped] = await Promise.all(['', '.br', '.gz'].map((suffix) => readIfThere(path + suffix)))
  if (content === undefined) return undefined
  const bodies = { identity: content, ...(br && { br }), ...(gzipped && { gzip: gzipped }) }
  return { contentType, digest: digestOf(content), bodies }
}

const digestOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

const readIfThere = (path: string): Promise<Buffer | undefined> =>
  readFile(path).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })

/** Streams a static file at the client's pace, in the preferred encoding; 304 for a known ETag. */
export function sendStaticFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
  cacheControl: string,
): FastifyReply {
  const encoding = preferredEncoding(request, file)
  const etag = `"${file.digest.slice(0, 32)}-${encoding}"`
  reply.headers({ etag, 'cache-control': cacheControl, vary: 'Accept-Encoding', 'x-content-type-options': 'nosniff' })
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const body = file.bodies[encoding] ?? file.bodies.identity
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply
    .header('content-length', String(body.length))
    .type(file.contentType)
    .send(Readable.from(piecesOf(body, CHUNK_BYTES), { objectMode: false, highWaterMark: CHUNK_BYTES }))
}

function preferredEncoding({ headers }: FastifyRequest, { bodies }: StaticFile): Encoding {
  const available = ENCODINGS.filter((encoding) => bodies[encoding] !== undefined)
  return negotiate<Encoding>(String(headers['accept-encoding'] ?? ''), available) ?? 'identity'
}

/** `If-None-Match` uses weak comparison (RFC 9110, 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
