import type { ServerResponse } from 'node:http'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Pool } from '../../db/connect.ts'
import { type CompanySlots, onBehalfOf, type RequireUnlocked } from '../../db/pool/fair-pool.ts'
import { notFound } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { boundStoredBytes, createAdmission } from '../admission/admit.ts'
import type { ApiKeys } from '../admission/authenticate.ts'
import type { Sessions } from '../admission/console-session.ts'
import type { RequestLimiter } from '../admission/rate-limit.ts'
import { createReadmission } from '../admission/readmission.ts'
import { type BodyPaces, countBodies, ownerOf } from '../body/body-budget.ts'
import { closeInput, compileValidator, readJsonBodies } from '../body/input.ts'
import { boundConnections, type ConnectionBounds } from '../connections/connection-bounds.ts'
import { type ClientConnection, exchangeOf, trackConnections } from '../connections/connections.ts'
import { endSlowUploads, type UploadBounds } from '../connections/slow-uploads.ts'
import { type AnswerBounds, boundAnswers } from '../connections/waiting-answers.ts'
import { answerErrors } from '../errors/error-reply.ts'
import { createOnceByKey, type OnceByKey, takesKeys } from '../idempotency/idempotency.ts'
import {
  boundHandlers,
  compileSerializer,
  compressAnswers,
  recordRequests,
  serializeLongLists,
  withTimeout,
} from './answers/answers.ts'
import { refuseUnreadable, serverFactory } from './listener.ts'
import {
  type AddressRule,
  checkContentEncoding,
  checkProtocol,
  clientAddress,
  networkOf,
  newRequestId,
  readableAddress,
  type TrustedProxies,
  trustedProxies,
  unprefixedAddress,
} from './request-head.ts'
import type { Stopping } from './stopping.ts'
import { traceRequests } from './trace-requests.ts'

export type ServerDeps = {
  config: Pick<Config, 'tls' | 'plainHttp' | 'trustProxy' | 'adminToken' | 'baseUrl' | 'sandbox'>
  /** Shared fairly among companies. */
  db: Pool
  /** The unshared pool. */
  pool: Pool
  log: Logger
  metrics: Metrics
  apiKeys: ApiKeys
  limiter: RequestLimiter
  cipher?: Pick<Cipher, 'encrypt' | 'decrypt'>
  sessions?: Sessions | undefined
  addressRule?: AddressRule
  /** Rejects work for locked companies, even after admission. */
  requireUnlocked?: RequireUnlocked
  holdSlot?: CompanySlots['hold']
  stopping?: Stopping
  tracing?: Tracing
  bounds?: ConnectionBounds & {
    answers?: Partial<AnswerBounds>
    uploads?: Partial<UploadBounds>
    bodies?: { windowSeconds: number }
  }
  paces?: BodyPaces
}

export const DEFAULT_BODY_LIMIT = 1024 * 1024
export const MAX_PARAM_LENGTH = 16_384

/** Creates the HTTP server. Routes below /admin/ belong to the operator, others to the API-key surface by default. */
export async function createServer(deps: ServerDeps): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = deps.log
  const { requireUnlocked = () => undefined } = deps
  const app = Fastify({
    loggerInstance,
    // We log one line instead of Fastify's two, with the request id, so need no child loggers.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: DEFAULT_BODY_LIMIT,
    // Still answers requests on open connections while closing.
    return503OnClosing: false,
    rewriteUrl: deps.sessions ? (raw) => unprefixedAddress(raw, readableAddress(raw)) : readableAddress,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    serverFactory: await serverFactory(deps.config),
    clientErrorHandler: refuseUnreadable,
  })
  const isTrusted = trustedProxies(deps.config.trustProxy)
  const addressOf = ({ raw }: Pick<FastifyRequest, 'raw'>) => clientAddress(raw, isTrusted)
  // Per-request hooks use callbacks: a promise would cost more than most hooks do.
  boundCosts(app, { ...deps, isTrusted, addressOf })
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  app.decorateRequest('caller')
  app.decorateRequest('session', null)
  app.decorate('isStillAdmitted', createReadmission({ ...deps, keys: deps.apiKeys, requireUnlocked }))
  readJsonBodies(app)
  answerErrors(app)

  const admit = createAdmission({ ...deps, keys: deps.apiKeys, isTrusted })
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith('/admin/')) return
    route.config = { ...route.config, surface: 'operator' }
    route.schema = { tags: ['Operator'], ...route.schema }
  })
  closeInput(app)
  app.addHook('onRequest', (_request, reply, done) => {
    if (deps.stopping?.isStopping) reply.header('connection', 'close')
    const closing = deps.stopping?.closing
    if (closing) closing.then(() => done())
    else done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    checkProtocol(request.raw)
    const admitted = admit(request, reply)
    return admitted ? withTimeout(admitted) : done()
  })
  app.addHook('onRequest', (request, _reply, done) => {
    checkContentEncoding(request.raw)
    done()
  })
  countBodies(app, { addressOf, ...(deps.paces && { paces: deps.paces }), ...deps.bounds?.bodies })
  boundStoredBytes(app, deps.limiter, addressOf)
  runHandlers(app, requireUnlocked, createOnceByKey(app, deps))
  boundHandlers(app, deps.db)
  serializeLongLists(app, deps.holdSlot)
  if (deps.sessions) compressAnswers(app)
  recordRequests(app, deps.metrics)
  if (deps.tracing) traceRequests(app, deps.tracing)
  app.setNotFoundHandler(() => {
    throw notFound()
  })
  app.addHook('onClose', () => deps.limiter.close())
  return app
}

type CostDeps = Pick<ServerDeps, 'log' | 'bounds'> & {
  isTrusted: TrustedProxies
  addressOf: (request: Pick<FastifyRequest, 'raw'>) => string
}

function boundCosts(app: FastifyInstance, { log, bounds = {}, isTrusted, addressOf }: CostDeps): void {
  const connections = trackConnections(app.server)
  boundConnections(app.server, connections, { log, isTrusted, ...bounds })
  const ownerOfAnswers = ({ exchanges: [first], socket }: ClientConnection) => {
    if (first?.as !== undefined) return ownerOf(first.as, addressOf)
    const address = networkOf(socket.remoteAddress)
    return { group: address, client: address }
  }
  const looks = [boundAnswers(connections, ownerOfAnswers, bounds.answers), endSlowUploads(connections, bounds.uploads)]
  app.addHook('onClose', () => {
    for (const { stop } of looks) stop()
  })
  app.addHook('onRequest', (request, reply, done) => {
    const exchange = exchangeOf(request.raw)
    reply.header('x-request-id', request.id)
    if (exchange === undefined) return done()
    exchange.as = request
    exchange.connection.proxied?.asked(request.raw)
    done()
  })
}

/**
 * Runs handlers registered afterwards once per `Idempotency-Key`, those of the API-key surface in a database slot of
 * their company. Once the client is answered or gone, such a handler starts no more statements, unless it `takesLong`.
 * Rejects requests admitted before a lock.
 */
export function runHandlers(app: FastifyInstance, requireUnlocked: RequireUnlocked, onceByKey: OnceByKey): void {
  app.addHook('onRoute', (route) => {
    const { surface = 'api-key', takesLong = false } = route.config ?? {}
    const { handler } = route
    const isKeyed = takesKeys(surface, route.method)
    const run: typeof handler = function (request, reply) {
      const work = () => handler.call(this, request, reply)
      return isKeyed && request.headers['idempotency-key'] !== undefined ? onceByKey(request, reply, work) : work()
    }
    if (surface !== 'api-key') {
      route.handler = run
      return
    }
    route.handler = function (request, reply) {
      const { companyId } = request.caller
      const isAwaited = takesLong ? () => true : untilAnswered(reply.raw)
      const handle = () =>
        onBehalfOf({ companyId, isHeavy: takesLong, isAwaited }, () => run.call(this, request, reply))
      const unlocked = requireUnlocked(companyId)
      return unlocked === undefined ? handle() : unlocked.then(handle)
    }
  })
}

/** Must not retain the request: connections opened meanwhile keep this async context. */
const untilAnswered = (response: ServerResponse) => (): boolean => !response.writableEnded && !response.destroyed
