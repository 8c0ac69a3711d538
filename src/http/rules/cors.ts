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
// Browsers must notice a removed origin within this time.
const PREFLIGHT_MAX_AGE_SECONDS = '300'

export const isPreflight = (request: FastifyRequest): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  request.headers['access-control-request-method'] !== undefined

const isOpenToOrigins = (url: string): boolean => url.startsWith('/public/v1/') || url.startsWith('/api/')

/** Answers a preflight (decisions: CORS): allows origins listed by any live key, else 403. */
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

export function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED)
}

export const isOwnOrigin = (caller: Caller, origin: string | undefined): boolean =>
  origin === undefined || caller.allowedOrigins.includes(origin)

/** Returns the request's origin unless it is our own; browsers also send that, for everything but reads. */
export function foreignOrigin(request: FastifyRequest, ownOrigin: string): string | undefined {
  const { origin } = request.headers
  return origin === ownOrigin ? undefined : origin
}

/** The same for unknown origins and those of another key, so that nothing leaks. */
export const originRefused = () => forbidden('The origin is not allowed for this API key')
