import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type AppError,
  companyMoving,
  forbidden,
  httpsRequired,
  missingCredentials,
  notFound,
  rateLimitExceeded,
  unauthorized,
} from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { withTimeout } from '../server/answers/answers.ts'
import {
  type AddressRule,
  clientAddress,
  consoleMark,
  createHttpsRule,
  isForwarded,
  isLoopback,
  isUnreadable,
  noRouteHere,
  refusalOfAddress,
  type TrustedProxies,
} from '../server/request-head.ts'
import { createSessionAdmission } from './admit-session.ts'
import { type ApiKeys, createTokenCheck } from './authenticate.ts'
import type { BrowserKey, Caller, Permission } from './caller.ts'
import type { Sessions } from './console-session.ts'
import { type RequestLimiter, refuseOver, type Standing } from './rate-limit.ts'

type AdmitDeps = {
  config: Pick<Config, 'tls' | 'plainHttp' | 'adminToken' | 'baseUrl' | 'sandbox'>
  keys: ApiKeys
  limiter: RequestLimiter
  sessions?: Sessions | undefined
  addressRule?: AddressRule
  isTrusted: TrustedProxies
}

const ANY_SERVER_KEY: readonly Permission[] = ['WhatsApp', 'Transactional']

/** Must run before reading the body. Order: HTTPS, preflight, key, count, origin, permission. */
export function createAdmission(deps: AdmitDeps) {
  const { isTrusted } = deps
  const isHttps = createHttpsRule(deps.config, isTrusted)
  const admitKey = createKeyAdmission(deps)
  const isOperator = createTokenCheck(deps.config.adminToken)
  const sessionAdmission = deps.sessions && createSessionAdmission({ ...deps, sessions: deps.sessions })

  const admitMarked = async (request: FastifyRequest, reply: FastifyReply, refusal: AppError | undefined) => {
    const mark = consoleMark(request.raw)
    if (refusal !== undefined || mark === undefined || sessionAdmission === undefined) throw refusal ?? notFound()
    await sessionAdmission.admitMarked(request, reply, mark)
    if (mark.surface !== 'api-key') return
    refuseLocked(request.caller)
    checkPermission(request.caller, permissionsOf(request))
  }

  return (request: FastifyRequest, reply: FastifyReply): Promise<unknown> | undefined => {
    const { surface = 'api-key' } = request.routeOptions.config
    const needsHttps = surface !== 'health' && !(surface === 'provider' && deps.config.sandbox && isLocal(request))
    if (needsHttps && !isHttps(request)) throw httpsRequired()
    if (isPreflight(request)) return answerPreflight(deps.keys, request, reply)
    const refusal = surface === 'health' ? undefined : refusalOfAddress(deps.addressRule, request, isTrusted)
    if (request.method === 'OPTIONS' && request.is404) throw refusal ?? notFound()
    if (surface !== 'api-key' && isUnreadable(request.raw)) throw noRouteHere(request)
    if (consoleMark(request.raw) !== undefined) return admitMarked(request, reply, refusal)
    if (surface === 'api-key') return admitKey(request, reply, permissionsOf(request), refusal)
    if (refusal !== undefined) throw refusal
    if (surface === 'console') return sessionAdmission?.admitOwn(request, reply)
    if (surface === 'operator' && !isOperator(request.headers.authorization)) throw unauthorized()
    return undefined
  }
}

const permissionsOf = ({ routeOptions }: FastifyRequest): readonly Permission[] =>
  routeOptions.config.permissions ?? ANY_SERVER_KEY

/** The sandbox posts keyless events from this machine, even with PLAIN_HTTP off. */
const isLocal = ({ raw: { socket, headers } }: FastifyRequest): boolean =>
  isLoopback(socket.remoteAddress) && !isForwarded(headers)

/**
 * Admits API-key requests and sets `request.caller`: key, count, address `refusal`, company, origin, permission, in
 * this order. Requests without a valid key count against their client address and get 401.
 */
function createKeyAdmission({ config, keys, limiter, isTrusted }: AdmitDeps) {
  const ownOrigin = new URL(config.baseUrl).origin

  const refuseUnknownCaller = async (
    request: FastifyRequest,
    reply: FastifyReply,
    origin: string | undefined,
    refusal: AppError | undefined,
  ) => {
    if (origin !== undefined && (await keys.isLiveOrigin(origin))) allowOrigin(reply, origin)
    const standing = await limiter.countAddress(clientAddress(request.raw, isTrusted))
    refuseOver(reply, standing, refusal)
    throw request.is404 ? noRouteHere(request) : missingCredentials()
  }

  /** Counts browser keys by address and key before the company, so visitors can use only part of the company limit. */
  const count = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { companyId, clientId, rateLimitPerMinute, browser }: Caller,
    refusal: AppError | undefined,
  ) => {
    const ofCompany = () => limiter.countCompany(companyId, rateLimitPerMinute)
    if (browser === undefined) return refuseOver(reply, await ofCompany(), refusal)
    const address = clientAddress(request.raw, isTrusted)
    const ofAddress = await limiter.countKeyAddress(clientId, address, browser.limits.ofAddress)
    refuseOver(reply, ofAddress, refusal)
    const ofKey = await limiter.countKey(clientId, browser.limits.ofKey)
    refuseOver(reply, ofKey, refusal)
    const standings = [ofAddress, ofKey, await ofCompany()]
    refuseOver(reply, standings.reduce(tightest), refusal)
  }

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    permissions: readonly Permission[],
    refusal: AppError | undefined,
  ): Promise<void> => {
    const origin = foreignOrigin(request, ownOrigin)
    reply.header('vary', 'Origin')
    const caller = await keys.findCaller(request.headers.authorization)
    if (caller === undefined) return refuseUnknownCaller(request, reply, origin, refusal)

    request.caller = caller
    if (origin !== undefined && isOwnOrigin(caller, origin)) allowOrigin(reply, origin)
    await count(request, reply, caller, refusal)
    refuseLocked(caller)
    if (request.is404) throw noRouteHere(request)
    if (!isOwnOrigin(caller, origin)) throw originRefused()
    checkPermission(caller, permissions)
  }
}

const tightest = (one: Standing, other: Standing): Standing =>
  other.isOver || (!one.isOver && other.remaining < one.remaining) ? other : one

/** @throws {AppError} 503 `service_unavailable` with `Retry-After` during a company move */
function refuseLocked({ isLocked }: Caller): void {
  if (isLocked) throw companyMoving()
}

/** @throws {AppError} 403 `forbidden` unless the caller has one of the permissions */
function checkPermission(caller: Caller, permissions: readonly Permission[]): void {
  if (permissions.some((permission) => caller.permissions.includes(permission))) return
  throw forbidden(`The ${kindOf(caller)} needs the permission ${permissions.join(' or ')}`)
}

const kindOf = ({ clientId }: Caller): string => (clientId.startsWith('console:') ? 'session' : 'API key')

const ANSWER_BYTES = 1_024

/** Every page visitor can read a browser key, so its stored bytes are limited per key and address (429). */
export function boundStoredBytes(
  app: FastifyInstance,
  limiter: RequestLimiter,
  addressOf: (request: FastifyRequest) => string,
): void {
  const count = async (request: FastifyRequest, { storedBytes }: BrowserKey): Promise<void> => {
    const { clientId } = request.caller
    const bytes = storedBytesOf(request)
    const ofAddress = await limiter.countStoredBytesFrom(clientId, addressOf(request), bytes, storedBytes.ofAddress)
    const { isOver, retryAfterSeconds } = ofAddress.isOver
      ? ofAddress
      : await limiter.countStoredBytes(clientId, bytes, storedBytes.ofKey)
    if (isOver) throw rateLimitExceeded(retryAfterSeconds, 'This key stores no more for now')
  }
  app.addHook('preHandler', (request, _reply, done) => {
    const browser = request.caller?.browser
    return browser === undefined || request.body == null ? done() : withTimeout(count(request, browser))
  })
}

function storedBytesOf({ bodyBytes, body, headers }: FastifyRequest): number {
  const bytes = bodyBytes?.length ?? Buffer.byteLength(JSON.stringify(body))
  return headers['idempotency-key'] === undefined ? bytes : bytes + Math.max(bytes, ANSWER_BYTES)
}

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

const isPreflight = (request: FastifyRequest): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  request.headers['access-control-request-method'] !== undefined

const isOpenToOrigins = (url: string): boolean => url.startsWith('/public/v1/') || url.startsWith('/api/')

/** Answers a preflight (decisions: CORS): allows origins listed by any live key, else 403. */
async function answerPreflight(keys: ApiKeys, request: FastifyRequest, reply: FastifyReply): Promise<void> {
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

function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED)
}

const isOwnOrigin = (caller: Caller, origin: string | undefined): boolean =>
  origin === undefined || caller.allowedOrigins.includes(origin)

/** Returns the request's origin unless it is our own; browsers also send that, for everything but reads. */
function foreignOrigin(request: FastifyRequest, ownOrigin: string): string | undefined {
  const { origin } = request.headers
  return origin === ownOrigin ? undefined : origin
}

/** The same for unknown origins and those of another key, so that nothing leaks. */
const originRefused = () => forbidden('The origin is not allowed for this API key')
