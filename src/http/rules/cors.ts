import type { FastifyReply, FastifyRequest } from 'fastify'
import { forbidden } from '../../platform/errors.ts'
import type { ApiKeys } from '../admission/authenticate.ts'
import type { Caller } from '../admission/caller.ts'
import { consoleMark } from '../admission/console-address.ts'

const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Error-Code',
  'Retry-After',
  'Idempotent-Replayed',
].join(', ')
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
const HEADERS = 'Authorization, Content-Type, Idempotency-Key'
// Browsers ask again after this time, so that an origin that was taken off is noticed.
const PREFLIGHT_MAX_AGE_SECONDS = '300'

/** Whether a browser asks, before a request of another origin, if it may send it. */
export const isPreflight = (request: FastifyRequest): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  request.headers['access-control-request-method'] !== undefined

/** Paths of the API-key surface; no other path answers other origins. */
const isOpenToOrigins = (url: string): boolean => url.startsWith('/public/v1/') || url.startsWith('/api/')

/** Answers what a browser asks before its request (decisions: CORS): yes to an origin that any live key lists, else 403. */
export async function answerPreflight(keys: ApiKeys, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { origin = '' } = request.headers
  reply.header('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
  const isOpen = isOpenToOrigins(request.url) && consoleMark(request.raw) === undefined
  if (!isOpen || !(await keys.isLiveOrigin(origin))) throw originRefused()
  reply
    .code(204)
    .header('access-control-allow-origin', origin)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', HEADERS)
    .header('access-control-max-age', PREFLIGHT_MAX_AGE_SECONDS)
    .send()
}

/** Lets the browser show an answer to the page that asked for it. */
export function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED)
}

/** Whether a request may come from where it comes from: no other site's page, or an origin of its own key. */
export const isOwnOrigin = (caller: Caller, origin: string | undefined): boolean =>
  origin === undefined || caller.allowedOrigins.includes(origin)

/** The origin that a page is of, unless the page is this service's own: browsers name it there too, for all but reads. */
export function foreignOrigin(request: FastifyRequest, ownOrigin: string): string | undefined {
  const { origin } = request.headers
  return origin === ownOrigin ? undefined : origin
}

/** 403 `forbidden`, the same for an origin that no key lists and for one of another key. */
export const originRefused = () => forbidden('The origin is not allowed for this API key')
