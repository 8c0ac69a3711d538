import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AppError, missingCredentials, rateLimitExceeded } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { noRouteHere } from '../errors/unreadable-address.ts'
import type { ApiKeys } from './authenticate.ts'
import type { Caller, Permission } from './caller.ts'
import { checkPermission, refuseLocked } from './check-caller.ts'
import { clientAddress, type TrustedProxies } from './client-address.ts'
import { type RequestLimiter, type Standing, setRateLimitHeaders } from './rate-limit.ts'
import { allowOrigin, foreignOrigin, isOwnOrigin, originRefused } from './rules.ts'

type Deps = { config: Pick<Config, 'baseUrl'>; keys: ApiKeys; limiter: RequestLimiter }

/**
 * Admits API-key requests and sets `request.caller`: key, count, address `refusal`, company, origin, permission, in
 * this order. Requests without a valid key count against their client address and get 401.
 */
export function createKeyAdmission({ config, keys, limiter }: Deps, isTrusted: TrustedProxies) {
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

/** The address refusal wins over the rate limit. */
function refuseOver(reply: FastifyReply, standing: Standing, refusal: AppError | undefined): void {
  setRateLimitHeaders(reply, standing)
  if (refusal !== undefined) throw refusal
  if (standing.isOver) throw rateLimitExceeded(standing.retryAfterSeconds)
}
