import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type CompanySlots, isAlone } from '../../../db/pool/fair-pool.ts'
import { createFairPace, waitForTurn } from '../../../fair/fair-pace.ts'
import type { Metrics } from '../../../platform/telemetry/metrics.ts'
import { consoleMark } from '../request-head.ts'

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
