import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { type AppError, serviceUnavailable, slowBody } from '../../platform/errors.ts'
import { hasBody } from '../server/request-head.ts'
import { type BodyLedger, createBodyLedger, type HeldBody } from './body-ledger.ts'
import { type BodyInTurn, type BodyPace, type BodyPaces, createBodyPaces, TURN_BYTES } from './body-pace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body has proven where it is from, so its address has a pace of its own. */
    isProven: boolean
  }
  interface FastifyContextConfig {
    /** The route reads its body as a stream and keeps no more than a chunk of it: the body is neither counted nor timed. */
    streamsBody?: boolean
  }
}

type Surface = NonNullable<FastifyContextConfig['surface']>

const MIB = 1024 * 1024
/** Bytes of all bodies in flight in this process. Each surface has its own, so that none can block another. */
const BUDGETS: Record<Surface, number> = {
  'api-key': 64 * MIB,
  operator: 16 * MIB,
  console: MIB,
  provider: 64 * MIB,
  public: 8 * MIB,
  health: MIB,
}
/** Bytes of all bodies in flight on all surfaces of this process. */
export const MOST_BYTES_IN_FLIGHT = Object.values(BUDGETS).reduce((sum, budget) => sum + budget, 0)
/** The part of a budget that one company has, or one address whose bodies nothing proves yet. */
const GROUP_SHARE = 1 / 4
const RETRY_AFTER_SECONDS = 2

/** A body that brings less than this in a window is ended. */
const LEAST_BYTES_PER_SECOND = 8 * 1024
const WINDOW_SECONDS = 5

type Options = {
  /** The client's address; counts where no credential names the caller. */
  addressOf: (request: FastifyRequest) => string
  /** How fast large bodies are read; absent: as body-pace.ts says. */
  paces?: BodyPaces
  /** Over how many seconds the pace of a body is measured. */
  windowSeconds?: number
}
const TICK_MS = 1_000

/**
 * Counts bodies in flight by the bytes that have arrived, until the request is answered. Over a budget a body is answered
 * 503 with `Retry-After`: of a company the new one, unless another client of the company has more in flight; otherwise
 * the oldest incomplete body of the client that has most. A new body of a client that holds little is therefore never
 * refused for what others hold. A body that arrives slower than 8 KiB/s over 5 s is ended with 408, unless it waits for its
 * turn: see `createBodyPaces`.
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
      // The parser answers the error of its stream. Where nothing reads the stream, the connection ends.
      if (payload.listenerCount('error') > 0) payload.emit('error', fault)
      else reply.raw.destroy()
    }
    const body = ledger.open(owner, refuse)
    const pacing = surface === 'operator' ? undefined : paceBody(body, paces.of(owner), payload)
    const close = (): void => {
      ledger.close(body)
      pacing?.stop()
    }
    // The parser adds its listeners in this turn of the event loop, before the first chunk is emitted.
    const count = (chunk: Buffer): void => {
      if (ledger.add(body, chunk.length)) pacing?.count(chunk.length)
      else refuse()
    }
    payload.on('data', count)
    payload.once('end', () => {
      body.isComplete = true
    })
    // Emitted too for a response that still waits behind another when the connection is closed.
    reply.raw.once('close', () => {
      close()
      if (request.isProven) paces.noteProven(owner.client)
    })
    done(null, payload)
  })
}

/** Stops reading a body between its turns. */
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

/** A body that declares more than its route reads is answered 413 before it is read. */
const isUnread = ({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): boolean =>
  !hasBody(headers) || Number(headers['content-length'] ?? 0) > bodyLimit

/** The owner that a body or an answer counts for: a client of a company, or an address. */
export function ownerOf(request: FastifyRequest, addressOf: Options['addressOf']) {
  const { caller } = request
  if (caller !== undefined) return { group: `company:${caller.companyId}`, client: caller.clientId, isKnown: true }
  const address = addressOf(request)
  return { group: address, client: address, isKnown: false }
}

const tooManyBodies = (): AppError =>
  serviceUnavailable('Too many request bodies are in flight: try again soon', RETRY_AFTER_SECONDS)

/** Ends bodies that arrive too slowly. It counts its calls, so that a process that stood still ends no body for it. */
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
