import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { createFairPace, type FairPace, type Turn } from '../../fair/fair-pace.ts'
import { createCache } from '../../platform/cache.ts'
import { type AppError, serviceUnavailable, slowBody } from '../../platform/errors.ts'
import { hasBody } from '../server/request-head.ts'

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
const TICK_MS = 1_000

type Options = { addressOf: (request: FastifyRequest) => string; paces?: BodyPaces; windowSeconds?: number }

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

function paceBody(body: HeldBody, pace: FairPace<string>, payload: { pause(): unknown; resume(): unknown }) {
  let allowed = TURN_BYTES
  const take = (): void => {
    body.isWaiting = !pace.take(turn)
    if (body.isWaiting) payload.pause()
    else allowed += TURN_BYTES
  }
  const turn: Turn<string> = {
    owner: body.client,
    cost: TURN_BYTES,
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
      if (body.isWaiting) pace.leave(turn)
    },
  }
}

/** Answered 413 without reading. */
const isUnread = ({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): boolean =>
  !hasBody(headers) || Number(headers['content-length'] ?? 0) > bodyLimit

/** Returns the owner charged for a body or response: a company's client, or an address. */
export function ownerOf(request: FastifyRequest, addressOf: Options['addressOf']): Owner {
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

/** `client`: a key, or the address of an anonymous caller. */
type Owner = { readonly group: string; readonly client: string; readonly isKnown: boolean }

type HeldBody = Owner & {
  readonly number: number
  bytes: number
  isOpen: boolean
  isComplete: boolean
  isWaiting: boolean
  readonly window: { seconds: number; bytesBefore: number }
  readonly refuse: (fault?: AppError) => void
}

type BodyLedger = {
  open(owner: Owner, refuse: HeldBody['refuse']): HeldBody
  incomplete(): HeldBody[]
  /** Returns false if there is no room; the body is then no longer counted. */
  add(body: HeldBody, bytes: number): boolean
  close(body: HeldBody): void
}

/** To make room, ends the oldest incomplete body of the largest client, in the group over its share or overall. */
function createBodyLedger({ budget, groupShare }: { budget: number; groupShare: number }): BodyLedger {
  // Not a `Set`, as in src/http/server/answers/answers.ts.
  const bodies: HeldBody[] = []
  const groups = new Map<string, number>()
  let total = 0
  let opened = 0

  const change = (body: HeldBody, bytes: number): void => {
    body.bytes += bytes
    total += bytes
    const held = (groups.get(body.group) ?? 0) + bytes
    if (held === 0) groups.delete(body.group)
    else groups.set(body.group, held)
  }
  const close = (body: HeldBody): void => {
    if (!body.isOpen) return
    body.isOpen = false
    bodies.splice(bodies.lastIndexOf(body), 1)
    change(body, -body.bytes)
  }

  const makeRoom = (body: HeldBody, among: readonly HeldBody[]): boolean => {
    const evicted = chooseEvicted(among)
    if (evicted === undefined || evicted === body || (evicted.isKnown && evicted.client === body.client)) return false
    close(evicted)
    evicted.refuse()
    return true
  }

  return {
    open: (owner, refuse) => {
      opened += 1
      const state = { isOpen: true, isComplete: false, isWaiting: false, window: { seconds: 0, bytesBefore: 0 } }
      const body: HeldBody = { ...owner, ...state, bytes: 0, number: opened, refuse }
      bodies.push(body)
      return body
    },
    incomplete: () => bodies.filter(({ isComplete }) => !isComplete),
    add: (body, bytes) => {
      if (!body.isOpen) return true
      change(body, bytes)
      while (isOver()) {
        if (makeRoom(body, candidates())) continue
        close(body)
        return false
      }
      return true

      function isOver(): boolean {
        return total > budget || isGroupOver()
      }
      function isGroupOver(): boolean {
        return (groups.get(body.group) ?? 0) > budget * groupShare
      }
      function candidates(): HeldBody[] {
        return isGroupOver() ? bodies.filter(({ group }) => group === body.group) : bodies
      }
    },
    close,
  }
}

/** Complete bodies count towards a client's size. */
function chooseEvicted(bodies: readonly HeldBody[]): HeldBody | undefined {
  const held = new Map<string, number>()
  for (const { client, bytes } of bodies) held.set(client, (held.get(client) ?? 0) + bytes)
  let evicted: HeldBody | undefined
  for (const body of bodies) {
    if (body.isComplete) continue
    const more = evicted === undefined ? 1 : (held.get(body.client) ?? 0) - (held.get(evicted.client) ?? 0)
    if (evicted === undefined || more > 0 || (more === 0 && body.number < evicted.number)) evicted = body
  }
  return evicted
}

/** Bytes per read, at first and at every turn. */
export const TURN_BYTES = 64 * 1024

/** Bytes. Shared by all unproven clients; also the pace of each address proven within the hour. */
const OF_UNPROVEN = { perSecond: 2 * MIB, burst: MIB }
/** Per company. The burst fits a whole body for most routes. */
const OF_COMPANY = { perSecond: MIB, burst: MIB }
const PROVEN_FOR_MS = 3_600_000
const MOST_GROUPS = 1_000

export type BodyPaces = {
  of(owner: Owner): FairPace<string>
  noteProven(address: string): void
}

/**
 * Reads the first 64 KiB of each body at once, the rest in turns at a bounded rate per company, per address proven
 * within the hour, and for all others together. So large unproven bodies delay only each other.
 */
export function createBodyPaces(ofUnproven = OF_UNPROVEN, ofCompany = OF_COMPANY): BodyPaces {
  const paces = createCache<string, FairPace<string>>({ name: 'body_paces', max: MOST_GROUPS })
  const proven = createCache<string, true>({ name: 'proven_addresses', max: MOST_GROUPS, ttlMs: PROVEN_FOR_MS })
  const unproven = createFairPace<string>(ofUnproven)
  return {
    of: ({ group, client, isKnown }) => {
      if (!isKnown && !proven.find(client)) return unproven
      return paces.get(group, () => createFairPace(isKnown ? ofCompany : ofUnproven))
    },
    noteProven: (address) => proven.set(address, true),
  }
}
