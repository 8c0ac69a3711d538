import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Pool } from '../db/connect.ts'
import { fileContent } from '../http/shapes.ts'
import type { Clock } from '../platform/clock.ts'
import { rangeNotSatisfiable } from '../platform/errors.ts'
import type { ByteRange } from './blobs/blob-store.ts'
import { contentDisposition, safeMimeType } from './content-headers.ts'
import { type CopyDeps, createCopyOnDemand } from './copy/copy-media.ts'
import { getStoredMedia, nothingHere, type StoredMedia } from './media.ts'
import { companyNamedBy, type MediaPass, type MediaSigner } from './signed-address.ts'

export type MediaRoutesDeps = Omit<CopyDeps, 'db'> & {
  db: Pool
  signer: MediaSigner
  movedSecret?: (companyId: number) => Promise<Buffer | undefined>
}

const config = { surface: 'public', takesLong: true, errors: ['not_found', 'range_not_satisfiable'] } as const
const params = Type.Object({ token: Type.String({ description: 'Signed token from `media.url`.' }) })
const SHOWN_TYPES = { 'image/jpeg': undefined, 'video/mp4': undefined, 'audio/ogg': undefined, '*/*': undefined }
const schema = {
  tags: ['Conversations'],
  operationId: 'getMedia',
  summary: 'Download a message file',
  description:
    "Use a message's `media.url`, valid for 7 days after it was read, without a credential. Supports one Range (206) and `If-None-Match` (304).",
  params,
  response: {
    200: fileContent('The file.', SHOWN_TYPES),
    206: fileContent('The requested range of the file.', SHOWN_TYPES),
    304: Type.Null({ description: 'The file has not changed.' }),
  },
}

/** Serves message files at signed addresses without login (decisions: Conversations and messages). */
export function mediaRoutes(deps: MediaRoutesDeps): FastifyPluginAsyncTypebox {
  const found = { db: deps.db, copyOnDemand: createCopyOnDemand(deps) }
  return async (app) => {
    const read = async (request: FastifyRequest, reply: FastifyReply, token: string) => {
      const pass = deps.signer.verify(token) ?? (await verifyMoved(deps, token))
      if (pass === undefined) throw nothingHere()
      const media = await getStoredMedia(found, pass.companyId, pass.messageId)
      const maxAgeSeconds = secondsUntil(pass.expiresAt, deps.clock)
      return answer(deps, request, reply, media, maxAgeSeconds)
    }
    app.head('/media/:token', { config, schema: { hide: true, params } }, (request, reply) =>
      read(request, reply, request.params.token),
    )
    app.get('/media/:token', { config, schema }, (request, reply) => read(request, reply, request.params.token))
  }
}

async function answer(
  deps: Pick<MediaRoutesDeps, 'blobStore'>,
  request: FastifyRequest,
  reply: FastifyReply,
  media: StoredMedia,
  maxAgeSeconds: number,
) {
  const etag = `"${media.sha256}"`
  if (isUnchanged(request, etag)) {
    return reply
      .code(304)
      .headers({ etag, 'cache-control': cacheControl(maxAgeSeconds) })
      .send()
  }
  const range = rangeOf(request, etag, media.sizeBytes)
  if (range === 'unsatisfiable') throw rangeNotSatisfiable(media.sizeBytes)
  const body = request.method === 'HEAD' ? undefined : await open(deps, media.storageKey, range)
  reply.headers({ ...headersOf(media), etag, 'cache-control': cacheControl(maxAgeSeconds) })
  if (range !== undefined) {
    reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${media.sizeBytes}`)
  }
  return reply.header('content-length', range ? range.end - range.start + 1 : media.sizeBytes).send(body)
}

/** Addresses issued before a move are signed with the company's earlier secret. */
async function verifyMoved({ signer, movedSecret }: MediaRoutesDeps, token: string): Promise<MediaPass | undefined> {
  const companyId = companyNamedBy(token)
  const secret = Number.isSafeInteger(companyId) && companyId > 0 ? await movedSecret?.(companyId) : undefined
  return secret && signer.verifyWith(secret, token)
}

/** Customer files share our origin: nothing in them may run, load, or pass for another type. */
function headersOf({ mimeType, filename }: StoredMedia): Record<string, string> {
  const type = safeMimeType(mimeType)
  return {
    'content-type': type,
    'content-disposition': contentDisposition(type, filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'accept-ranges': 'bytes',
  }
}

const cacheControl = (maxAgeSeconds: number): string => `private, max-age=${maxAgeSeconds}, immutable`

function isUnchanged({ headers }: FastifyRequest, etag: string): boolean {
  const condition = headers['if-none-match']
  return condition?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag) ?? false
}

/** Range applies to GET only, and with If-Range only if the ETag matches. */
function rangeOf({ method, headers }: FastifyRequest, etag: string, sizeBytes: number) {
  const condition = headers['if-range']
  const isServed = method === 'GET' && (condition === undefined || condition === etag)
  return isServed ? parseByteRange(headers.range, sizeBytes) : undefined
}

async function open(
  { blobStore }: Pick<MediaRoutesDeps, 'blobStore'>,
  storageKey: string,
  range: ByteRange | undefined,
): Promise<Readable> {
  const body = await blobStore.open(storageKey, range)
  if (body === undefined) throw nothingHere()
  return body
}

const secondsUntil = (expiresAt: Date, clock: Clock): number =>
  Math.max(0, Math.floor((expiresAt.getTime() - clock.now().getTime()) / 1_000))

/** Parses a Range header (RFC 9110, 14). Undefined means the whole file, also for malformed and multi-part ranges. */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') return within(size - Math.min(Number(last), size), size - 1, size)
  if (last !== '' && Number(last) < Number(first)) return undefined
  return within(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size)
}

const within = (start: number, end: number, size: number): ByteRange | 'unsatisfiable' =>
  start < size ? { start, end } : 'unsatisfiable'
