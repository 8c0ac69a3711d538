import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createBatcher } from '../../batching/batch.ts'
import type { Db, Json, Pool } from '../../db/connect.ts'
import { AppError, idempotencyKeyInUse, idempotencyKeyReused, validationError } from '../../errors.ts'
import { withTimeout } from '../errors/database-timeout.ts'
import {
  type KeyedRequest,
  type Reservation,
  recordAnswer,
  releaseKey,
  renewKeys,
  reserveKey,
  reserveNewKeys,
  storeProgress,
} from './idempotency-store.ts'

/** An answer as a handler gives it; its body is kept as JSON. */
export type StoredAnswer = { status: number; body: unknown }

export type IdempotencyReservation = {
  readonly id: number
  readonly companyId: number
  /** The progress that an earlier run of this request recorded with `recordProgress` before its process died. */
  readonly progress: Json | null
  /** Whether the handler has stored its answer for the key. */
  isCompleted: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The reservation of this request's Idempotency-Key; absent without the header. The handler stores its answer in
     * the transaction that takes effect, with `answerOnce`, `completeKey` or a statement of its own.
     */
    idempotency: IdempotencyReservation | undefined
  }
  interface FastifyContextConfig {
    /**
     * Returns the outcome of a send whose process died before it answered. The answer is stored and repeated from then
     * on.
     */
    recoverAnswer?: (companyId: number, messageId: number) => Promise<StoredAnswer>
  }
}

const MAX_KEY_LENGTH = 255
/** Requests whose keys one statement reserves, that wait for it, and how long one waits; beyond either it is refused with 503. */
const MAX_BATCH = 200
const MAX_WAITING = 5_000
const MAX_WAIT_MS = 2_000
const RELEASE_TIMEOUT_MS = 1_000
/** Three renewals fit into a lease. */
const RENEW_EVERY_MS = 4_000
// A string of structured fields (RFC 9651): visible ASCII and spaces, quotes and backslashes escaped.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/

/**
 * Makes every POST of the API-key surface that carries an Idempotency-Key take effect once (decisions: Idempotency-Key),
 * of the routes that are registered afterwards. The key stays reserved until the handler ends, also when its caller was
 * answered 503 before: then an error releases it, and a kept answer stays. Requests that arrive at once reserve new keys in
 * one statement of `pool`, which also releases keys at once; `db` looks at taken ones in slots of its company.
 */
export function keepIdempotencyKeys(app: FastifyInstance, { db, pool }: { db: Db; pool: Db }): void {
  app.decorateRequest('idempotency')
  const running = createRunning(app, pool)
  const reserveShared = createReservations({ db, pool })

  const once = async (request: FastifyRequest, reply: FastifyReply, key: string, work: () => Promise<unknown>) => {
    const reservation = await reserve({ db, pool, reserveShared }, request, reply, key)
    if (reservation === undefined) return reply
    request.idempotency = reservation
    return running.during(reservation, () => endReservation(pool, request, reservation, work))
  }

  app.addHook('onRoute', (route) => {
    const isPost = [route.method].flat().includes('POST')
    if (!isPost || (route.config?.surface ?? 'api-key') !== 'api-key') return
    const { handler } = route
    route.handler = function (request, reply) {
      const work = async () => handler.call(this, request, reply)
      const header = request.headers['idempotency-key']
      return header === undefined ? work() : once(request, reply, parseKey(String(header)), work)
    }
  })
}

/** The reservations whose handlers run in this process: their leases are renewed until the handlers end. */
function createRunning(app: FastifyInstance, db: Db) {
  const running = new Set<IdempotencyReservation>()
  const renew = async () => {
    if (running.size === 0) return
    await renewKeys(db, [...running]).catch((error) =>
      app.log.error({ reason: String(error) }, 'idempotency.not_renewed'),
    )
  }
  const timer = setInterval(renew, RENEW_EVERY_MS).unref()
  app.addHook('onClose', () => clearInterval(timer))
  return {
    during: async <T>(reservation: IdempotencyReservation, work: () => Promise<T>): Promise<T> => {
      running.add(reservation)
      try {
        return await work()
      } finally {
        running.delete(reservation)
      }
    },
  }
}

/** Runs a handler to its end; after an error the key keeps a final refusal, or is released. */
async function endReservation<T>(
  db: Db,
  request: FastifyRequest,
  reservation: IdempotencyReservation,
  handle: () => Promise<T>,
): Promise<T> {
  try {
    const result = await handle()
    if (!reservation.isCompleted) throw new Error(`${request.method} ${request.url} stored no answer for its key`)
    return result
  } catch (error) {
    const { companyId, id } = reservation
    const releasing =
      error instanceof AppError && error.final ? storeAnswer(db, companyId, id, error) : releaseKey(db, companyId, id)
    const released = releasing.catch((reason) =>
      request.log.error({ requestId: request.id, reason: String(reason) }, 'idempotency.not_released'),
    )
    // While the database is silent the answer does not wait for it; the lease of a key that is not released expires.
    await Promise.race([released, sleep(RELEASE_TIMEOUT_MS, undefined, { ref: false })])
    throw error
  }
}

/**
 * Runs the work of a POST and stores its answer for the request's Idempotency-Key in one transaction: both are committed
 * or neither. Returns the body.
 * @throws {AppError} 409 `idempotency_key_in_use` when a repeated request has taken the key over; nothing is committed
 */
export async function answerOnce<Body>(
  db: Pool,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  work: (tx: Db) => Promise<Body>,
): Promise<Body> {
  reply.code(status)
  if (request.idempotency === undefined) return work(db)
  const outcome = await db.begin(async (tx) => {
    const body = await work(tx)
    await completeKey(tx, request, reply, status, body)
    return { body }
  })
  return outcome.body
}

/**
 * Stores the answer for the request's Idempotency-Key, if it has one, in the transaction that takes effect.
 * @throws {AppError} 409 `idempotency_key_in_use` when a repeated request has taken the key over: roll back
 */
export async function completeKey(
  tx: Db,
  { idempotency }: FastifyRequest,
  reply: FastifyReply,
  status: number,
  body: unknown,
): Promise<void> {
  if (idempotency === undefined) return
  const { companyId, id } = idempotency
  const text = String(reply.code(status).serialize(body))
  const isKept = await recordAnswer(tx, companyId, id, status, text)
  if (!isKept) throw idempotencyKeyInUse()
  idempotency.isCompleted = true
}

/**
 * Records how far the work of a keyed request is, in the transaction that does it; does nothing without a key. A repeat
 * after a crash finds it in `request.idempotency.progress`.
 * @throws {AppError} 409 `idempotency_key_in_use` when a repeated request has taken the key over: roll back
 */
export async function recordKeyProgress(tx: Db, { idempotency }: FastifyRequest, progress: Json): Promise<void> {
  if (idempotency === undefined) return
  if (!(await storeProgress(tx, idempotency.companyId, idempotency.id, progress))) throw idempotencyKeyInUse()
}

/** The key, bare or as a quoted string; throws 422 when it is empty, too long, or badly quoted. */
export function parseKey(header: string): string {
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1') : header
  if (key !== undefined && key.length >= 1 && key.length <= MAX_KEY_LENGTH) return key
  throw validationError([
    { path: 'Idempotency-Key', message: `must be 1 to ${MAX_KEY_LENGTH} characters, bare or as a quoted string` },
  ])
}

/** Reserves new keys in statements that requests share. A key that is taken has a statement of its own, which may wait. */
function createReservations({ db, pool }: { db: Db; pool: Db }) {
  const reserveNew = createBatcher<KeyedRequest, number | undefined>({
    run: (requests) => reserveNewKeys(pool, requests),
    maxItems: MAX_BATCH,
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ companyId }) => companyId,
  })
  return async (request: KeyedRequest): Promise<Reservation> => {
    const id = await reserveNew(request)
    return id === undefined ? reserveKey(db, request) : { state: 'reserved', id, progress: null }
  }
}

/** The reservation of a request's key; undefined when the first answer has been sent again. */
async function reserve(
  { db, pool, reserveShared }: { db: Db; pool: Db; reserveShared: (request: KeyedRequest) => Promise<Reservation> },
  request: FastifyRequest,
  reply: FastifyReply,
  key: string,
): Promise<IdempotencyReservation | undefined> {
  const { companyId, clientId } = request.caller
  const [path = ''] = request.url.split('?', 1)
  const asked = { companyId, clientId, method: request.method, path, key, digest: digestOf(request) }
  const found = await withTimeout(
    reserveShared(asked),
    (late) => late.state === 'reserved' && free(pool, request, companyId, late.id),
  )
  if (found.state === 'reserved') {
    return { id: found.id, companyId, progress: found.progress, isCompleted: false }
  }
  if (found.state === 'reused') throw idempotencyKeyReused()
  if (found.state === 'answered') {
    replay(reply, found.status, found.text)
    return undefined
  }
  const { recoverAnswer } = request.routeOptions.config
  if (found.state === 'running' || recoverAnswer === undefined) throw idempotencyKeyInUse()

  const answer = await recoverAnswer(companyId, found.messageId)
  await storeAnswer(db, companyId, found.id, answer)
  replay(reply, answer.status, JSON.stringify(answer.body))
  return undefined
}

/** Of method, address and body; a form, whose bytes differ from one attempt to the next, counts by its fields. */
function digestOf(request: FastifyRequest): Buffer {
  const body = request.bodyBytes ?? JSON.stringify(request.body ?? null)
  return createHash('sha256').update(`${request.method} ${request.url}\n`).update(body).digest()
}

const replay = (reply: FastifyReply, status: number, text: string) =>
  reply.code(status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8').send(text)

/** Keeps an answer for a reservation, by its id; the first one stays. */
const storeAnswer = (db: Db, companyId: number, id: number, { status, body }: StoredAnswer): Promise<unknown> =>
  recordAnswer(db, companyId, id, status, JSON.stringify(body))

const free = (db: Db, request: FastifyRequest, companyId: number, id: number): Promise<void> =>
  releaseKey(db, companyId, id).catch((error) =>
    request.log.error({ requestId: request.id, reason: String(error) }, 'idempotency.not_released'),
  )
