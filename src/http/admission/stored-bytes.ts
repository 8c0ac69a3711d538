import type { FastifyInstance, FastifyRequest } from 'fastify'
import { rateLimitExceeded } from '../../platform/errors.ts'
import { withTimeout } from '../errors/database-timeout.ts'
import type { BrowserKey } from './caller.ts'
import type { RequestLimiter } from './rate-limit.ts'

const ANSWER_BYTES = 1_024

/** Every page visitor can read a browser key, so its stored bytes are limited per key and address (429). */
export function boundStoredBytes(
  app: FastifyInstance,
  limiter: RequestLimiter,
  addressOf: (request: FastifyRequest) => string,
): void {
  const count = async (request: FastifyRequest, { storedBytes }: BrowserKey): Promise<void> => {
    const { clientId } = request.caller
    const bytes = storedBytesOf(request)
    const ofAddress = await limiter.countStoredBytesFrom(clientId, addressOf(request), bytes, storedBytes.ofAddress)
    const { isOver, retryAfterSeconds } = ofAddress.isOver
      ? ofAddress
      : await limiter.countStoredBytes(clientId, bytes, storedBytes.ofKey)
    if (isOver) throw rateLimitExceeded(retryAfterSeconds, 'This key stores no more for now')
  }
  app.addHook('preHandler', (request, _reply, done) => {
    const browser = request.caller?.browser
    return browser === undefined || request.body == null ? done() : withTimeout(count(request, browser))
  })
}

function storedBytesOf({ bodyBytes, body, headers }: FastifyRequest): number {
  const bytes = bodyBytes?.length ?? Buffer.byteLength(JSON.stringify(body))
  return headers['idempotency-key'] === undefined ? bytes : bytes + Math.max(bytes, ANSWER_BYTES)
}
