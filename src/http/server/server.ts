import { readFile } from 'node:fs/promises'
import {
  createServer as createHttpServer,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import build, { type Schema } from 'fast-json-stringify'
import Fastify, {
  type ConnectionError,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type FastifySerializerCompiler,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Pool } from '../../db/connect.ts'
import { type CompanySlots, onBehalfOf, type RequireUnlocked } from '../../db/pool/fair-pool.ts'
import { badRequest, errorCodeOf, lateRequest, notFound } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { codeOf, messageOf, StartError } from '../../platform/start-error.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { boundStoredBytes, createAdmission } from '../admission/admit.ts'
import type { ApiKeys } from '../admission/authenticate.ts'
import type { Sessions } from '../admission/console-session.ts'
import type { RequestLimiter } from '../admission/rate-limit.ts'
import { createReadmission } from '../admission/readmission.ts'
import { type AddressRule, clientAddress, networkOf, type TrustedProxies, trustedProxies } from '../admission/rules.ts'
import { type BodyPaces, countBodies, ownerOf } from '../body/body-budget.ts'
import { readJsonBodies } from '../body/json-body.ts'
import {
  boundConnections,
  type ClientConnection,
  type ConnectionBounds,
  trackConnections,
} from '../connections/connections.ts'
import { boundPipelining } from '../connections/pipelining.ts'
import { endSlowUploads, UPLOAD_MS, type UploadBounds } from '../connections/slow-uploads.ts'
import { type AnswerBounds, boundAnswers } from '../connections/waiting-answers.ts'
import { boundHandlers, withTimeout } from '../errors/database-timeout.ts'
import { answerErrors } from '../errors/error-reply.ts'
import { closeInput, compileValidator } from '../errors/validate.ts'
import { keepIdempotencyKeys } from '../idempotency/idempotency.ts'
import { compressAnswers, recordRequests, serializeLongLists } from './answers/answers.ts'
import {
  checkContentEncoding,
  checkProtocol,
  newRequestId,
  readableAddress,
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

// Time for a request head, and for pauses on a connection; no response takes longer than a send waiting for its slot
// and the provider.
const HEADERS_TIMEOUT_MS = 15_000
const CONNECTION_TIMEOUT_MS = 75_000
export const KEEP_ALIVE_TIMEOUT_MS = 65_000

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

  const admit = createAdmission({ ...deps, keys: deps.apiKeys })
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
  keepIdempotencyKeys(app, deps)
  actForCompanies(app, requireUnlocked)
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
  boundPipelining(connections)
  const checkInFlight = boundConnections(app.server, connections, { log, isTrusted, ...bounds })
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
    const exchange = connections.exchangeOf(request.raw)
    reply.header('x-request-id', request.id)
    if (exchange === undefined) return done()
    exchange.as = request
    checkInFlight(request.raw)
    done()
  })
}

/**
 * Runs API-key handlers registered afterwards in a database slot of their company. Once the client is answered or gone,
 * the handler starts no more statements, unless it `takesLong`. Rejects requests admitted before a lock.
 */
export function actForCompanies(app: FastifyInstance, requireUnlocked: RequireUnlocked): void {
  app.addHook('onRoute', (route) => {
    const { surface = 'api-key', takesLong = false } = route.config ?? {}
    if (surface !== 'api-key') return
    const { handler } = route
    route.handler = function (request, reply) {
      const { companyId } = request.caller
      const isAwaited = takesLong ? () => true : untilAnswered(reply.raw)
      const handle = () =>
        onBehalfOf({ companyId, isHeavy: takesLong, isAwaited }, () => handler.call(this, request, reply))
      const unlocked = requireUnlocked(companyId)
      return unlocked === undefined ? handle() : unlocked.then(handle)
    }
  })
}

/** Must not retain the request: connections opened meanwhile keep this async context. */
const untilAnswered = (response: ServerResponse) => (): boolean => !response.writableEnded && !response.destroyed

/** HTTPS if there is a certificate. Sets every timeout explicitly. */
async function serverFactory({ tls }: Pick<Config, 'tls'>): Promise<(handler: RequestListener) => Server> {
  const timeouts = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: UPLOAD_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
    // We refuse it with our own body.
    requireHostHeader: false,
  }
  const certificate = tls && (await readCertificate(tls))
  return (handler) => {
    const server = certificate
      ? createHttpsServer({ ...timeouts, ...certificate, handshakeTimeout: HEADERS_TIMEOUT_MS }, handler)
      : createHttpServer(timeouts, handler)
    return server.setTimeout(CONNECTION_TIMEOUT_MS).on('checkExpectation', handler)
  }
}

/** @throws {StartError} if a file cannot be read or the two do not match */
async function readCertificate({ certFile, keyFile }: NonNullable<Config['tls']>) {
  const read = (name: string, path: string) =>
    readFile(path).catch((error) => {
      throw new StartError(`${name}=${path} can't be read (${codeOf(error)}): correct its path or its rights`, error)
    })
  const certificate = { cert: await read('TLS_CERT_FILE', certFile), key: await read('TLS_KEY_FILE', keyFile) }
  try {
    createSecureContext(certificate)
  } catch (error) {
    throw new StartError(
      `TLS_CERT_FILE and TLS_KEY_FILE can't be used (${messageOf(error)}): both have to be PEM, and the key has to be the certificate's`,
      error,
    )
  }
  return certificate
}

function refuseUnreadable(error: ConnectionError, socket: Socket): void {
  // Up to 64 KiB each, which would stay until the next collection: 250 of them trigger a full GC.
  const { rawPacket }: { rawPacket?: unknown } = error
  if (rawPacket instanceof Uint8Array && rawPacket.buffer instanceof ArrayBuffer) rawPacket.buffer.transfer(0)
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? lateRequest() : badRequest('The request is not valid HTTP')
  const body = JSON.stringify(refusal.body)
  socket.end(
    [
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
      `X-Request-Id: ${newRequestId()}`,
      `X-Error-Code: ${errorCodeOf(refusal.status, refusal.body)}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

/** Compiles response serializers on first use: compiling all at once took half of an API start. */
export const compileSerializer: FastifySerializerCompiler<Schema> = ({ schema }) => {
  let serialize: ((data: unknown) => string) | undefined
  return (data) => {
    serialize ??= build(schema)
    return serialize(data)
  }
}
