import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import build, { type Schema } from 'fast-json-stringify'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySerializerCompiler,
  HTTPMethods,
  RouteHandlerMethod,
} from 'fastify'
import type { Db } from '../../../db/connect.ts'
import { isContention, isSchemaChanged } from '../../../db/pool/failure.ts'
import { type CompanySlots, isAlone } from '../../../db/pool/fair-pool.ts'
import { createFairPace, waitForTurn } from '../../../fair/fair-pace.ts'
import { serviceUnavailable } from '../../../platform/errors.ts'
import type { Metrics } from '../../../platform/telemetry/metrics.ts'
import { consoleMark } from '../request-head.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Waits for something other than the database, and bounds that wait itself. */
    waitsForOthers?: boolean
    /** May take long, while the database responds. */
    takesLong?: boolean
    /** Waits for the mail worker, which bounds that wait, and for the database. */
    waitsForWorker?: boolean
  }
}

/** Longer than any database work should take. */
const PATIENCE_MS = 3_500
/** For long work: probe interval, and probe timeout. */
const LOOK_EVERY_MS = 500
const LOOK_MS = 2_500
const SWEEP_MS = 250
const RETRY_AFTER_SECONDS = 1

type Wait = { sweepsLeft: number; giveUp(): void }

/** An old `Set` makes its short-lived entries old, too (docs/decisions/0005-a-driver-of-our-own.md). */
const waits: Wait[] = []
setInterval(sweep, SWEEP_MS).unref()

/** Adds deadlines to handlers registered afterwards. Body upload time is not counted. */
export function boundHandlers(app: FastifyInstance, db: Db): void {
  app.addHook('onRoute', (route) => {
    const { waitsForOthers, takesLong, waitsForWorker } = route.config ?? {}
    const handler = isRead(route.method) ? repeatOnContention(route.handler) : route.handler
    route.handler = handler
    const hasHeartbeat = takesLong || waitsForWorker
    if (waitsForOthers) return
    const bound = hasHeartbeat ? (answer: Promise<unknown>) => withHeartbeat(db, answer) : withTimeout<unknown>
    route.handler = function (request, reply) {
      const answer: unknown = handler.call(this, request, reply)
      return answer instanceof Promise ? bound(answer) : answer
    }
  })
}

const isRead = (method: HTTPMethods | HTTPMethods[]): boolean => [method].flat().every((one) => READS.includes(one))
const READS = ['GET', 'HEAD']

const repeatOnContention = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    const answer: unknown = handler.call(this, request, reply)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((error) => {
      if (!(isContention(error) || isSchemaChanged(error)) || reply.raw.headersSent) throw error
      return handler.call(this, request, reply)
    })
  }

/** Throws 503 after the deadline, because a stopped database may never answer. Passes late results to `onLate`. */
export function withTimeout<T>(
  work: Promise<T>,
  onLate: (result: T) => unknown = () => {},
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(serviceUnavailable('The database does not answer: try again soon', RETRY_AFTER_SECONDS))
    const wait: Wait = { sweepsLeft: Math.ceil(patienceMs / SWEEP_MS), giveUp }
    waits.push(wait)
    const finish = (result: T) => (endWait(wait) ? resolve(result) : onLate(result))
    work.then(finish, (error) => endWait(wait) && reject(error))
  })
}

/** Throws 503 once the database stops responding. A closed database connection fails the work itself. */
export function withHeartbeat<T>(db: Db, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const wait: Wait = { sweepsLeft: 0, giveUp: () => void look() }
    const watch = () => {
      wait.sweepsLeft = LOOK_EVERY_MS / SWEEP_MS
      if (!isOver) waits.push(wait)
    }
    const look = () =>
      withTimeout<unknown>(
        db`select 1`.catch(() => {}),
        undefined,
        LOOK_MS,
      ).then(watch, reject)
    watch()
    work.then(resolve, reject).finally(() => {
      isOver = true
      endWait(wait)
    })
  })
}

/** Returns false if the wait was over already. */
function endWait(wait: Wait): boolean {
  const at = waits.lastIndexOf(wait)
  if (at >= 0) waits.splice(at, 1)
  return at >= 0
}

function sweep(): void {
  for (const wait of [...waits]) {
    wait.sweepsLeft -= 1
    if (wait.sweepsLeft < 0 && endWait(wait)) wait.giveUp()
  }
}

/** Compiles response serializers on first use: compiling all at once took half of an API start. */
export const compileSerializer: FastifySerializerCompiler<Schema> = ({ schema }) => {
  let serialize: ((data: unknown) => string) | undefined
  return (data) => {
    serialize ??= build(schema)
    return serialize(data)
  }
}

/** Shorter lists are serialized at once. */
const LONG_LIST_ITEMS = 17
/** Characters per event-loop turn: less than a millisecond. */
const TURN_LENGTH = 128 * 1024
/** Aimed at per call of the serializer, whose items differ in size. */
const PIECE_LENGTH = TURN_LENGTH / 4
/** Characters per second for all long lists, while more than one company is active. */
export const LIST_PACE = { perSecond: 8 * 1024 * 1024, burst: TURN_LENGTH }
/** Owner of the operator's lists, which are paced like a company's. */
const OPERATOR = 0

type List = readonly unknown[]

/**
 * Serializes long lists in pieces, at a pace shared by all companies, so that one caller's megabytes can't delay others.
 * Holds a company slot meanwhile, which bounds the rows in memory. Stops when the caller is gone.
 */
export function serializeLongLists(app: FastifyInstance, holdSlot: CompanySlots['hold'] = () => () => {}): void {
  const pace = createFairPace<number>(LIST_PACE)
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const list = listIn(payload)
    if (list === undefined || list.length < LONG_LIST_ITEMS) return done(null, payload)
    const withItems = (items: List) => (list === payload ? items : { ...Object(payload), data: items })
    const owner = request.caller?.companyId ?? OPERATOR
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    const nextTurn = async (): Promise<boolean> => {
      if (!isAlone(owner)) return waitForTurn(pace, { owner, cost: TURN_LENGTH }, gone.signal)
      await setImmediate()
      return !gone.signal.aborted
    }
    const release = holdSlot(owner)
    serializeInTurns(reply, list, withItems, nextTurn)
      .finally(release)
      .then((body) => {
        // Fastify also accepts bytes, but its type only allows text.
        reply.serializer(Object(() => body))
        done(null, payload)
      }, done)
  })
}

function listIn(payload: unknown): List | undefined {
  if (Array.isArray(payload)) return payload
  const { data }: { data?: unknown } = Object(payload)
  return Array.isArray(data) ? data : undefined
}

/** Returns bytes above one turn, because encoding megabytes of text would block the event loop, too; nothing without a caller. */
async function serializeInTurns(
  reply: FastifyReply,
  list: List,
  withItems: (items: List) => unknown,
  nextTurn: () => Promise<boolean>,
): Promise<string | Buffer> {
  const serialize = (items: List) => String(reply.serialize(withItems(items)))
  const empty = serialize([])
  const start = empty.startsWith('[') ? 1 : empty.indexOf('"data":[') + '"data":['.length
  const rest = empty.slice(start)
  const encoded: Buffer[] = []
  let text = empty.slice(0, start)
  for (let from = 0, count = 1; from < list.length; ) {
    const piece = serialize(list.slice(from, from + count))
    text += `${from === 0 ? '' : ','}${piece.slice(start, piece.length - rest.length)}`
    from += count
    count = Math.max(1, Math.min(2 * count, Math.floor((count * PIECE_LENGTH) / piece.length)))
    if (text.length < TURN_LENGTH) continue
    encoded.push(Buffer.from(text))
    text = ''
    if (!(await nextTurn())) return ''
  }
  return encoded.length === 0 ? text + rest : Buffer.concat([...encoded, Buffer.from(text + rest)])
}

const toGzip = promisify(gzip)
/** Smaller responses fit into one packet. */
const MIN_BYTES = 1_024

/** Compresses JSON for console pages only: other sites cannot trigger these requests, so sizes leak nothing. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
    if (payload.length < MIN_BYTES || consoleMark(request.raw) === undefined) return payload
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
    if (!isJson || reply.hasHeader('content-encoding')) return payload
    reply.header('vary', 'Accept-Encoding')
    if (!takesGzip(request)) return payload
    reply.header('content-encoding', 'gzip').removeHeader('content-length')
    return toGzip(payload)
  })
}

const takesGzip = ({ headers }: FastifyRequest): boolean =>
  negotiate(String(headers['accept-encoding'] ?? ''), ['gzip', 'identity']) === 'gzip'

/** A defect; a single one should alert. */
const DEFECT = 500

/** Logs and counts requests. Must use the route pattern: addresses contain contact emails and searches. */
export function recordRequests(app: FastifyInstance, metrics: Pick<Metrics, 'requests' | 'requestSeconds'>): void {
  // Start at 0, because alerts cannot see an increase in a counter starting at 1. Other statuses and the 17 duration
  // series start with the first request; preset for every route they would add thousands of lines to each scrape.
  app.addHook('onRoute', ({ method, url: route }) => {
    const methods = [method].flat().filter((one) => one !== 'HEAD')
    for (const one of methods) metrics.requests.inc({ method: one, route, status: DEFECT }, 0)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
    const status = reply.statusCode
    metrics.requests.inc({ method, route, status })
    if (!request.routeOptions.config.isStream)
      metrics.requestSeconds.observe({ method, route }, reply.elapsedTime / 1000)
    request.log.info(
      {
        requestId: request.id,
        method,
        route,
        status,
        durationMs: Math.round(reply.elapsedTime * 100) / 100,
        companyId: request.caller?.companyId,
        clientId: request.caller?.clientId,
        sessionId: request.session?.id,
        bytes: Number(reply.getHeader('content-length') ?? 0),
      },
      'request.answered',
    )
    done()
  })
}
