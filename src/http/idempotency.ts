import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler } from 'fastify'
import type { Db } from '../db/connect.ts'
import { idempotencyKeyInUse, idempotencyKeyReused, validationError } from '../errors.ts'
import { inTime } from './deadline.ts'
import { keepAnswer, releaseKey, reserveKey } from './idempotency-store.ts'

/** An answer as a handler gives it; its body is kept as JSON. */
export type Answer = { status: number; body: unknown }

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The reservation of this request's Idempotency-Key; absent without the header. A handler that stores the answer
     * in a statement of its own (`answer_status`, `answer_body` as JSON text) sets `settled`.
     */
    idempotency: { readonly id: number; settled: boolean } | undefined
  }
  interface FastifyContextConfig {
    /** What became of a send whose process died before it could answer. Its answer is kept and given ever after. */
    recoverAnswer?: (companyId: number, messageId: number) => Promise<Answer>
  }
}

const MAX_KEY_LENGTH = 255
const SETTLE_PATIENCE_MS = 1_000
// A string of structured fields (RFC 9651): visible ASCII and spaces, quotes and backslashes escaped.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/

/**
 * Makes every POST of the API-key surface that carries an Idempotency-Key happen once (decisions: Idempotency-Key), of
 * the routes that are registered afterwards.
 */
export function keepIdempotencyKeys(app: FastifyInstance, db: Db): void {
  app.decorateRequest('idempotency')
  const begin: preHandlerHookHandler = (request, reply, done) => {
    const header = request.headers['idempotency-key']
    if (header === undefined) return done()
    return reserve(db, request, reply, parseKey(String(header)))
  }
  const end: onSendHookHandler = (request, reply, payload, done) =>
    request.idempotency === undefined ? done() : settle(db, request, reply, payload)

  app.addHook('onRoute', (route) => {
    const isPost = [route.method].flat().includes('POST')
    if (!isPost || (route.config?.surface ?? 'api-key') !== 'api-key') return
    route.preHandler = [begin, ...[route.preHandler ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), end]
  })
}

/** The key, bare or as a quoted string; throws 422 when it is empty, too long, or badly quoted. */
export function parseKey(header: string): string {
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1') : header
  if (key !== undefined && key.length >= 1 && key.length <= MAX_KEY_LENGTH) return key
  throw validationError([
    { path: 'Idempotency-Key', message: `must be 1 to ${MAX_KEY_LENGTH} characters, bare or as a quoted string` },
  ])
}

async function reserve(db: Db, request: FastifyRequest, reply: FastifyReply, key: string) {
  const { companyId, clientId } = request.caller
  const [path = ''] = request.url.split('?', 1)
  const asked = { companyId, clientId, method: request.method, path, key, digest: digestOf(request) }
  const found = await inTime(
    reserveKey(db, asked),
    (late) => late.state === 'reserved' && free(db, request, companyId, late.id),
  )
  if (found.state === 'reserved') {
    request.idempotency = { id: found.id, settled: false }
    return
  }
  if (found.state === 'reused') throw idempotencyKeyReused()
  if (found.state === 'answered') return replay(reply, found.status, found.text)
  const { recoverAnswer } = request.routeOptions.config
  if (found.state === 'running' || recoverAnswer === undefined) throw idempotencyKeyInUse()

  const answer = await recoverAnswer(companyId, found.messageId)
  await storeAnswer(db, companyId, found.id, answer)
  return replay(reply, answer.status, JSON.stringify(answer.body))
}

/** Of method, address and body; a form, whose bytes differ from one attempt to the next, counts by its fields. */
function digestOf(request: FastifyRequest): Buffer {
  const body = request.bodyBytes ?? JSON.stringify(request.body ?? null)
  return createHash('sha256').update(`${request.method} ${request.url}\n`).update(body).digest()
}

const replay = (reply: FastifyReply, status: number, text: string) =>
  reply.code(status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8').send(text)

/** Keeps an answer for a reservation, by its id; the first one stays. */
export const storeAnswer = (db: Db, companyId: number, id: number, answer: Answer): Promise<void> =>
  keepAnswer(db, companyId, id, answer.status, JSON.stringify(answer.body))

/**
 * Before the answer goes out: keeps it when the work was done or refused for good, else frees the key. When the
 * database fails here, the answer goes out all the same: what was done is done.
 */
async function settle(db: Db, request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
  const { idempotency, caller, refusal } = request
  if (idempotency === undefined || idempotency.settled) return
  const isFinal = refusal?.final ?? (reply.statusCode >= 200 && reply.statusCode < 300)
  const settling = isFinal
    ? keepAnswer(db, caller.companyId, idempotency.id, reply.statusCode, textOf(payload))
    : releaseKey(db, caller.companyId, idempotency.id)
  try {
    // It is written all the same when the database is silent for longer; the answer does not wait for it.
    await Promise.race([settling, sleep(SETTLE_PATIENCE_MS, undefined, { ref: false })])
    idempotency.settled = true
  } catch (error) {
    request.log.error({ requestId: request.id, reason: String(error) }, 'idempotency.not_settled')
  }
}

const free = (db: Db, request: FastifyRequest, companyId: number, id: number): Promise<void> =>
  releaseKey(db, companyId, id).catch((error) =>
    request.log.error({ requestId: request.id, reason: String(error) }, 'idempotency.not_settled'),
  )

const textOf = (payload: unknown): string => (typeof payload === 'string' ? payload : '')
