import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  companyNotFound,
  forbidden,
  notFound,
  rateLimitExceeded,
  severalSessions,
  signInRequired,
} from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import type { Config } from '../../platform/settings/config.ts'
import {
  type ConsoleMark,
  clientAddress,
  hasBody,
  isHostOf,
  requestedHost,
  type TrustedProxies,
} from '../server/request-head.ts'
import type { Caller, Permission } from './caller.ts'
import type { CompanyState, Session, Sessions } from './console-session.ts'
import { type RequestLimiter, refuseOver, SESSION_LIMIT } from './rate-limit.ts'
import { checkRole } from './role.ts'

type Deps = {
  config: Pick<Config, 'baseUrl'>
  sessions: Sessions
  limiter: RequestLimiter
  isTrusted: TrustedProxies
}

const OPERATOR_PERMISSIONS: readonly Permission[] = ['WhatsApp', 'Transactional']

/**
 * Checks, in this order: forgery rule, session, session count. `admitMarked` is for requests below the console prefix.
 */
export function createSessionAdmission({ config, sessions, limiter, isTrusted }: Deps) {
  const refuseForged = createForgeryRule(config.baseUrl)

  /** Runs after the session count, so a session over its own limit cannot use up the shared one. */
  const countCompany = async ({ company, state }: Session): Promise<void> => {
    if (company === null) return
    const { isOver, retryAfterSeconds } = await limiter.countSessionsOf(company.id, state.sessionRateLimitPerMinute)
    if (isOver) throw rateLimitExceeded(retryAfterSeconds, 'Too many requests of all sessions of the company')
  }
  const addressOf = (request: FastifyRequest): string => clientAddress(request.raw, isTrusted)

  const requireSession = async (request: FastifyRequest, reply: FastifyReply): Promise<Session> => {
    const session = await sessions.use(request.headers.cookie)
    refuseOver(reply, await (session ? limiter.countSession(session.id) : limiter.countAddress(addressOf(request))))
    if (session === undefined) throw sessions.areSeveral(request.headers.cookie) ? severalSessions() : signInRequired()
    await countCompany(session)
    request.session = session
    return session
  }

  const callerOf = async (request: FastifyRequest, session: Session, named: string | undefined): Promise<Caller> => {
    if (named === undefined) {
      if (session.company === null)
        throw forbidden('A session of the operator acts for a company below /console/api/as')
      return toCaller(session, session.company.id, session.permissions, session.state)
    }
    if (session.company !== null) throw forbidden('Only the operator may act for a company')
    const companyId = parseId(named)
    const company = companyId === undefined ? undefined : await sessions.findCompany(companyId)
    if (companyId === undefined || company === undefined) throw companyNotFound()
    const { id: requestId, method, routeOptions } = request
    const by = { sessionId: session.id, name: session.name }
    request.log.info({ requestId, ...by, companyId, method, route: routeOptions.url }, 'operator.acted')
    return toCaller(session, companyId, OPERATOR_PERMISSIONS, company)
  }

  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.header('cache-control', 'no-store')
    refuseForged(request, requestedHost(request, isTrusted))
  }

  return {
    admitMarked: async (request: FastifyRequest, reply: FastifyReply, mark: ConsoleMark): Promise<void> => {
      begin(request, reply)
      const session = await requireSession(request, reply)
      const { surface = 'api-key' } = request.routeOptions.config
      if (request.is404 || surface !== mark.surface) throw notFound()
      if (surface === 'api-key') {
        request.caller = await callerOf(request, session, mark.companyId)
        checkRole(session.role, request.routeOptions.config.roles)
      } else if (session.company !== null) throw forbidden('Only the operator may use this address')
    },
    admitOwn: async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      begin(request, reply)
      const { isSignIn, roles } = request.routeOptions.config
      if (isSignIn) refuseOver(reply, await limiter.countSignIn(addressOf(request)))
      else checkRole((await requireSession(request, reply)).role, roles)
    },
  }
}

const toCaller = (
  session: Session,
  companyId: number,
  permissions: readonly Permission[],
  { isLocked, defaultCountry }: CompanyState,
): Caller => ({
  companyId,
  clientId: `console:${session.id}`,
  keyName: session.name,
  permissions,
  allowedOrigins: [],
  rateLimitPerMinute: SESSION_LIMIT,
  isLocked,
  defaultCountry,
})

const READING = new Set(['GET', 'HEAD'])
/** Types no HTML form can send. */
const BODY_TYPES = new Set(['application/json', 'text/csv', 'application/x-ndjson', 'application/octet-stream'])

/**
 * Rejects cross-site requests with a visitor's session (docs/security.md, Console): the host must be that of BASE_URL,
 * the page the console; writes must prove it by `Origin` and a content type no form can send.
 * @throws {AppError} 403 with the violated rule
 */
function createForgeryRule(baseUrl: string): (request: FastifyRequest, host: string) => void {
  const own = new URL(baseUrl)
  return ({ method, headers, raw }, host) => {
    if (headers['sec-fetch-site'] !== 'same-origin') throw notOfConsole('Sec-Fetch-Site must be same-origin')
    if (!isHostOf(own, host)) throw notOfConsole(`the host must be ${own.host}`)
    if (READING.has(method)) return
    if (headers.origin !== own.origin) throw notOfConsole(`Origin must be ${own.origin}`)
    const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    if (type === undefined ? hasBody(raw.headers) : !BODY_TYPES.has(type)) {
      throw notOfConsole(`the Content-Type must be one of ${[...BODY_TYPES].join(', ')}`)
    }
  }
}

const notOfConsole = (rule: string) => forbidden(`Only pages of the console may use its API: ${rule}`)
