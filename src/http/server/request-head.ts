import { randomFillSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import {
  type AppError,
  badRequest,
  expectationFailed,
  notFound,
  unsupportedContentEncoding,
} from '../../platform/errors.ts'

/** Rejects, with a body, what Node would reject without: a missing `Host` (400) and unknown `Expect` (417). */
export function checkProtocol({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw badRequest('The Host header is missing')
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) throw expectationFailed()
}

export function checkContentEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || /^(identity)?$/i.test(encoding.trim())) return
  if (hasBody(headers)) throw unsupportedContentEncoding()
}

/** See RFC 9112, 6. */
export const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const unreadable = new WeakSet<object>()
// No route can have this path, so the usual hooks run and refuse the request.
const NOWHERE = '/%2F'

/** The router would answer undecodable addresses before the HTTPS rule and rate limit; Postgres rejects NUL. */
export function readableAddress(request: IncomingMessage): string {
  const url = request.url ?? '/'
  if (!url.includes('%') || isReadable(url)) return url
  unreadable.add(request)
  return NOWHERE
}

export const isUnreadable = (request: IncomingMessage): boolean => unreadable.has(request)

export const noRouteHere = (request: FastifyRequest): AppError =>
  isUnreadable(request.raw) ? badRequest('The address is not a valid URL') : notFound()

function isReadable(url: string): boolean {
  if (url.includes('%00')) return false
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '')
    return true
  } catch {
    return false
  }
}

export type ConsoleMark = { readonly surface: 'api-key' | 'operator'; readonly companyId: string | undefined }

const marks = new WeakMap<object, ConsoleMark>()
const PREFIXED = /^\/console\/api(?:\/as\/([^/?#]+))?(\/public\/v1\/.*|\/admin\/v1\/.*)$/s

/** Strips `/console/api` and marks the request. Only marked requests take their caller from the session cookie. */
export function unprefixedAddress(request: IncomingMessage, url: string): string {
  const [, companyId, path] = url.startsWith('/console/api/') ? (PREFIXED.exec(url) ?? []) : []
  if (path === undefined) return url
  const surface = path.startsWith('/admin/') ? 'operator' : 'api-key'
  if (surface === 'operator' && companyId !== undefined) return url
  marks.set(request, { surface, companyId })
  return path
}

export const consoleMark = (request: IncomingMessage): ConsoleMark | undefined => marks.get(request)

const REQUEST_ID_BYTES = 12
const randomBytes = Buffer.alloc(REQUEST_ID_BYTES * 512)
let bytesUsed = randomBytes.length

/** Fetches random bytes for many ids at once. */
export function newRequestId(): string {
  if (bytesUsed === randomBytes.length) {
    randomFillSync(randomBytes)
    bytesUsed = 0
  }
  bytesUsed += REQUEST_ID_BYTES
  return `req_${randomBytes.toString('base64url', bytesUsed - REQUEST_ID_BYTES, bytesUsed)}`
}
