import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AppError, httpsRequired, notFound, unauthorized } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { isUnreadable, noRouteHere } from '../errors/unreadable-address.ts'
import { createKeyAdmission } from './admit-key.ts'
import { createSessionAdmission } from './admit-session.ts'
import { type ApiKeys, createTokenCheck } from './authenticate.ts'
import type { Permission } from './caller.ts'
import { checkPermission, refuseLocked } from './check-caller.ts'
import { isForwarded, isLoopback, trustedProxies } from './client-address.ts'
import { consoleMark } from './console-address.ts'
import type { Sessions } from './console-session.ts'
import type { RequestLimiter } from './rate-limit.ts'
import { type AddressRule, addressedTo, answerPreflight, createHttpsRule, isPreflight } from './rules.ts'

type AdmitDeps = {
  config: Pick<Config, 'tls' | 'plainHttp' | 'trustProxy' | 'adminToken' | 'baseUrl' | 'sandbox'>
  keys: ApiKeys
  limiter: RequestLimiter
  sessions?: Sessions | undefined
  refuseAddress?: AddressRule
}

const ANY_SERVER_KEY: readonly Permission[] = ['WhatsApp', 'Transactional']

/** Must run before reading the body. Order: HTTPS, preflight, key, count, origin, permission. */
export function createAdmission(deps: AdmitDeps) {
  const isTrusted = trustedProxies(deps.config.trustProxy)
  const isHttps = createHttpsRule(deps.config, isTrusted)
  const admitKey = createKeyAdmission(deps, isTrusted)
  const isOperator = createTokenCheck(deps.config.adminToken)
  const sessionAdmission = deps.sessions && createSessionAdmission({ ...deps, sessions: deps.sessions }, isTrusted)

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
    const refusal = surface === 'health' ? undefined : deps.refuseAddress?.(addressedTo(request, isTrusted))
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
