import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { type AppError, serviceUnavailable, slowBody } from '../../platform/errors.ts'
import { hasBody } from '../server/request-head.ts'
import { type BodyLedger, createBodyLedger, type HeldBody } from './body-ledger.ts'
import { type BodyInTurn, type BodyPace, type BodyPaces, createBodyPaces, TURN_BYTES } from './body-pace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body has proven its origin, so its address gets its own pace. */
    isProven: boolean
  }
  interface FastifyContextConfig {
    /** Consumes the body chunk by chunk; such bodies are neither counted nor timed. */
    streamsBody?: boolean
  }
}

type Surface = NonNullable<FastifyContextConfig['surface']>

const MIB = 1024 * 1024
/** Bytes in flight per process. Separate per surface, so that none can block another. */
const BUDGETS: Record<Surface, number> = {
  'api-key': 64 * MIB,
  operator: 16 * MIB,
  console: MIB,
  provider: 64 * MIB,
  public: 8 * MIB,
  health: MIB,
}
export const MOST_BYTES_IN_FLIGHT = Object.values(BUDGETS).reduce((sum, budget) => sum + budget, 0)
/** Share of a budget per company, or per unproven address. */
const GROUP_SHARE = 1 / 4
const RETRY_AFTER_SECONDS = 2

const LEAST_BYTES_PER_SECOND = 8 * 1024
const WINDOW_SECONDS = 5

type Options = {
  addressOf: (request: FastifyRequest) => string
  paces?: BodyPaces
  windowSeconds?: number
}
const TICK_MS = 1_000

/**
 * Counts body bytes in flight until the response. Over budget, answers 503 with `Retry-After`: within a company the new
 * body, unless another of its clients has more in flight; otherwise the oldest incomplete body of the largest client.
 * So small clients never suffer from large ones. Bodies slower than 8 KiB/s over 5 s get 408, unless waiting for their
 * turn (`createBodyPaces`).
 */
export function countBodies(
  app: FastifyInstance,
  { addressOf, paces = createBodyPaces(), windowSeconds = WINDOW_SECONDS }: Options,
): void {
  const ledgers = new Map<Surface, BodyLedger>()
  for (const [surface, budget] of Object.entries(BUDGETS) as [Surface, number][]) {
    ledgers.set(surface, createBodyLedger({ budget, groupShare: surface === 'operator' ? 1 : GROUP_SHARE }))
  }
  const timer = setInterval(() => endSlowBodies([...ledgers.values()], windowSeconds), TICK_MS).unref()
  app.addHook('onClose', () => clearInterval(timer))
  app.decorateRequest('isProven', false)

  app.addHook('preParsing', (request, reply, payload, done) => {
    const { surface = 'api-key', streamsBody = false } = request.routeOptions.config
    const ledger = ledgers.get(surface)
    if (ledger === undefined || streamsBody || isUnread(request)) return done(null, payload)
    const owner = ownerOf(request, addressOf)
    const refuse = (fault = tooManyBodies()): void => {
      close()
      payload.off('data', count)
      // The parser handles stream errors. Without a reader, close the connection.
      if (payload.listenerCount('error') > 0) payload.emit('error', fault)
      else reply.raw.destroy()
    }
    const body = ledger.open(owner, refuse)
    const pacing = surface === 'operator' ? undefined : paceBody(body, paces.of(owner), payload)
    const close = (): void => {
      ledger.close(body)
      pacing?.stop()
    }
    // Must run in this turn, before the first chunk: the parser attaches its listeners now.
    const count = (chunk: Buffer): void => {
      if (ledger.add(body, chunk.length)) pacing?.count(chunk.length)
      else refuse()
    }
    payload.on('data', count)
    payload.once('end', () => {
      body.isComplete = true
    })
    // Also emitted for pipelined responses when the connection closes.
    reply.raw.once('close', () => {
      close()
      if (request.isProven) paces.noteProven(owner.client)
    })
    done(null, payload)
  })
}

function paceBody(body: HeldBody, pace: BodyPace, payload: { pause(): unknown; resume(): unknown }) {
  let allowed = TURN_BYTES
  const take = (): void => {
    body.isWaiting = !pace.take(waiting)
    if (body.isWaiting) payload.pause()
    else allowed += TURN_BYTES
  }
  const waiting: BodyInTurn = {
    client: body.client,
    onTurn: () => {
      body.isWaiting = false
      allowed += TURN_BYTES
      payload.resume()
    },
  }
  return {
    count: (bytes: number): void => {
      allowed -= bytes
      if (allowed < 0 && !body.isWaiting) take()
    },
    stop: () => {
      if (body.isWaiting) pace.leave(waiting)
    },
  }
}

/** Answered 413 without reading. */
const isUnread = ({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): boolean =>
  !hasBody(headers) || Number(headers['content-length'] ?? 0) > bodyLimit

/** Returns the owner charged for a body or response: a company's client, or an address. */
export function ownerOf(request: FastifyRequest, addressOf: Options['addressOf']) {
  const { caller } = request
  if (caller !== undefined) return { group: `company:${caller.companyId}`, client: caller.clientId, isKnown: true }
  const address = addressOf(request)
  return { group: address, client: address, isKnown: false }
}

const tooManyBodies = (): AppError =>
  serviceUnavailable('Too many request bodies are in flight: try again soon', RETRY_AFTER_SECONDS)

/** Ends slow bodies. Counts ticks, so a stalled process ends no body because of its own pause. */
function endSlowBodies(ledgers: readonly BodyLedger[], windowSeconds: number): void {
  for (const body of ledgers.flatMap((ledger) => ledger.incomplete())) {
    const { window } = body
    if (body.isWaiting) Object.assign(window, { seconds: 0, bytesBefore: body.bytes })
    else window.seconds += 1
    if (window.seconds < windowSeconds) continue
    if (body.bytes - window.bytesBefore < LEAST_BYTES_PER_SECOND * windowSeconds) body.refuse(slowBody())
    else Object.assign(window, { seconds: 0, bytesBefore: body.bytes })
  }
}
