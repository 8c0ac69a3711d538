import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Json, Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import {
  AppError,
  errorCodeOf,
  hasCode,
  idempotencyKeyInUse,
  idempotencyKeyReused,
  validationError,
} from '../../platform/errors.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { ERROR_CODE_HEADER } from '../errors/error-reply.ts'
import { withTimeout } from '../server/answers/answers.ts'
import {
  type KeyedRequest,
  OPERATOR,
  type Reservation,
  recordAnswer,
  releaseKey,
  reserveKey,
  reserveNewKeys,
  storeProgress,
} from './idempotency-store.ts'
import { createRunning } from './running-reservations.ts'

export type StoredAnswer = { status: number; body: unknown }

type IdempotencyReservation = {
  readonly id: number
  readonly companyId: number
  readonly seal: (text: string) => string
  /** Recorded with `recordKeyProgress` by an earlier run before its process died. */
  readonly progress: Json | null
  isCompleted: boolean
}

export type KeyToReserve = {
  readonly companyId: number
  readonly request: KeyedRequest
  id: number | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Handlers must store their response in the effects' transaction: `answerOnce`, `completeKey` or own SQL. */
    idempotency: IdempotencyReservation | undefined
    keyToReserve: KeyToReserve | undefined
  }
  interface FastifyContextConfig {
    hasSecretAnswer?: boolean
    /**
     * The handler reserves the key in its first transaction, or throws 409 `idempotency_key_in_use`; saves a commit.
     */
    reservesKey?: (request: FastifyRequest) => boolean
    /** Returns the outcome of a send whose process died before responding; stored and replayed from then on. */
    recoverAnswer?: (companyId: number, messageId: number) => Promise<StoredAnswer>
  }
}

const MAX_KEY_LENGTH = 255
/** Batch size, queue length and wait for reservations; above either of the last two, requests are refused with 503. */
const MAX_BATCH = 200
const MAX_WAITING = 5_000
const MAX_WAIT_MS = 2_000
const RELEASE_TIMEOUT_MS = 1_000
// Structured-field string (RFC 9651): visible ASCII and spaces, with escaped quotes and backslashes.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/

export type OnceByKey = (request: FastifyRequest, reply: FastifyReply, work: () => unknown) => Promise<unknown>

/**
 * Makes keyed requests take effect once (decisions: Idempotency-Key). The key stays reserved until the handler ends,
 * even after a 503; then an error releases the key. Concurrent requests reserve new keys in one `pool` statement; `db`
 * checks taken keys in the company's slots.
 */
export function createOnceByKey(app: FastifyInstance, { db, pool, cipher }: KeyDeps): OnceByKey {
  app.decorateRequest('idempotency')
  app.decorateRequest('keyToReserve')
  const running = createRunning(app, pool)
  const reserve = createReservations({ db, pool })

  const once = async (request: FastifyRequest, reply: FastifyReply, keyed: KeyedRequest, work: Work) => {
    const { companyId } = keyed
    const found = await withTimeout(
      reserve(keyed),
      (late) => late.state === 'reserved' && free(pool, request, companyId, late.id),
    )
    if (found.state !== 'reserved') return answerTaken(db, request, reply, opened(request, found, cipher))
    const seal = sealOf(request, cipher)
    const reservation = { id: found.id, companyId, progress: found.progress, isCompleted: false, seal }
    request.idempotency = reservation
    return running.during(reservation, () => endReservation(pool, request, reservation, work))
  }

  /** Runs a handler that reserves the key. If another request was first, replays that response. */
  const onceWritten = async (
    request: FastifyRequest,
    reply: FastifyReply,
    keyed: KeyedRequest,
    work: Work,
    isFirstRun = true,
  ): Promise<unknown> => {
    const key: KeyToReserve = { companyId: keyed.companyId, request: keyed, id: null }
    request.keyToReserve = key
    const look = async () => {
      const found = await reserve(keyed)
      if (found.state === 'reserved') await free(pool, request, keyed.companyId, found.id)
      return found
    }
    try {
      return await running.during(key, work)
    } catch (error) {
      if (key.id !== null) throw error
      const found = await withTimeout(look(), undefined, RELEASE_TIMEOUT_MS).catch(() => undefined)
      if (found === undefined || found.state === 'running') throw error
      if (found.state !== 'reserved') return answerTaken(db, request, reply, found)
      // The conflicting row expired, belonged to a dead process, or its request was refused.
      if (isFirstRun && hasCode(error, 'idempotency_key_in_use')) return onceWritten(request, reply, keyed, work, false)
      throw error
    }
  }

  return async (request, reply, work) => {
    const keyed = toKeyedRequest(request, parseKey(String(request.headers['idempotency-key'])))
    const run = request.routeOptions.config.reservesKey?.(request) ? onceWritten : once
    return run(request, reply, keyed, async () => work())
  }
}

type KeyDeps = { db: Db; pool: Db; cipher?: Pick<Cipher, 'encrypt' | 'decrypt'> | undefined }

const KEYED_SURFACES: readonly string[] = ['api-key', 'operator']

export const takesKeys = (surface: string, method: string | string[]): boolean =>
  KEYED_SURFACES.includes(surface) && [method].flat().includes('POST')

type Work = () => Promise<unknown>

const asIs = (text: string): string => text

const sealOf = ({ routeOptions }: FastifyRequest, cipher: KeyDeps['cipher']) =>
  routeOptions.config.hasSecretAnswer && cipher ? cipher.encrypt : asIs

function opened({ routeOptions }: FastifyRequest, taken: Taken, cipher: KeyDeps['cipher']): Taken {
  const isSealed = taken.state === 'answered' && taken.status < 300 && routeOptions.config.hasSecretAnswer
  return isSealed && cipher ? { ...taken, text: cipher.decrypt(taken.text) } : taken
}

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
    // Do not wait for an unresponsive database; the lease expires anyway.
    await Promise.race([released, sleep(RELEASE_TIMEOUT_MS, undefined, { ref: false })])
    throw error
  }
}

/**
 * Stores the response in one transaction with the work of a POST; returns the body.
 * @throws {AppError} 409 `idempotency_key_in_use` if a retry took over the key; nothing is committed
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
 * Stores the response if there is a key. Must run in the transaction with the effects.
 * @throws {AppError} 409 `idempotency_key_in_use` if a retry took over the key: roll back
 */
export async function completeKey(
  tx: Db,
  { idempotency }: FastifyRequest,
  reply: FastifyReply,
  status: number,
  body: unknown,
): Promise<void> {
  if (idempotency === undefined) return
  const { companyId, id, seal } = idempotency
  const text = seal(String(reply.code(status).serialize(body)))
  const isKept = await recordAnswer(tx, companyId, id, status, text)
  if (!isKept) throw idempotencyKeyInUse()
  idempotency.isCompleted = true
}

/**
 * Records progress in the transaction doing the work; a retry finds it in `request.idempotency.progress`.
 * @throws {AppError} 409 `idempotency_key_in_use` if a retry took over the key: roll back
 */
export async function recordKeyProgress(tx: Db, { idempotency }: FastifyRequest, progress: Json): Promise<void> {
  if (idempotency === undefined) return
  if (!(await storeProgress(tx, idempotency.companyId, idempotency.id, progress))) throw idempotencyKeyInUse()
}

/** @throws {AppError} 422 if empty, too long, or badly quoted */
export function parseKey(header: string): string {
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1') : header
  if (key !== undefined && key.length >= 1 && key.length <= MAX_KEY_LENGTH) return key
  throw validationError([
    { path: 'Idempotency-Key', message: `must be 1 to ${MAX_KEY_LENGTH} characters, bare or as a quoted string` },
  ])
}

/** Batches reservations of new keys. Taken keys need their own statement, which may wait. */
function createReservations({ db, pool }: { db: Db; pool: Db }) {
  const reserveNew = createStatementBatcher<KeyedRequest, number | undefined>({
    run: (requests) => reserveNewKeys(pool, requests),
    maxItems: MAX_BATCH,
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ companyId }) => companyId,
  })
  return async (request: KeyedRequest): Promise<Reservation> => {
    if (request.companyId === OPERATOR) return reserveKey(pool, request)
    const id = await reserveNew(request)
    return id === undefined ? reserveKey(db, request) : { state: 'reserved', id, progress: null }
  }
}

function toKeyedRequest(request: FastifyRequest, key: string): KeyedRequest {
  const isOperator = request.routeOptions.config.surface === 'operator'
  const { companyId, clientId } = isOperator ? { companyId: OPERATOR, clientId: 'operator' } : request.caller
  const [path = ''] = request.url.split('?', 1)
  return { companyId, clientId, method: request.method, path, key, digest: digestOf(request) }
}

type Taken = Exclude<Reservation, { state: 'reserved' }>

async function answerTaken(db: Db, request: FastifyRequest, reply: FastifyReply, taken: Taken): Promise<FastifyReply> {
  if (taken.state === 'reused') throw idempotencyKeyReused()
  if (taken.state === 'answered') return replay(reply, taken.status, taken.text)
  const { recoverAnswer } = request.routeOptions.config
  if (taken.state === 'running' || recoverAnswer === undefined) throw idempotencyKeyInUse()

  const { companyId } = request.caller
  const answer = await recoverAnswer(companyId, taken.messageId)
  await storeAnswer(db, companyId, taken.id, answer)
  return replay(reply, answer.status, JSON.stringify(answer.body))
}

/** Forms are digested by fields, since their bytes differ between attempts. */
function digestOf(request: FastifyRequest): Buffer {
  const body = request.bodyBytes ?? JSON.stringify(request.body ?? null)
  return createHash('sha256').update(`${request.method} ${request.url}\n`).update(body).digest()
}

function replay(reply: FastifyReply, status: number, text: string): FastifyReply {
  if (status >= 400) reply.header(ERROR_CODE_HEADER, errorCodeOf(status, JSON.parse(text)))
  return reply.code(status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8').send(text)
}

const storeAnswer = (db: Db, companyId: number, id: number, { status, body }: StoredAnswer): Promise<unknown> =>
  recordAnswer(db, companyId, id, status, JSON.stringify(body))

const free = (db: Db, request: FastifyRequest, companyId: number, id: number): Promise<void> =>
  releaseKey(db, companyId, id).catch((error) =>
    request.log.error({ requestId: request.id, reason: String(error) }, 'idempotency.not_released'),
  )
