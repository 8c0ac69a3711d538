import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { describe } from '../../errors/error-reply.ts'

/**
 * The parts of an answer as a stream. A failure after the first part is logged, and ends the connection without the end of
 * the answer: the client notices that it is not whole.
 */
export const streamParts = (request: FastifyRequest, parts: AsyncIterable<string>): Readable =>
  Readable.from(logFailure(request, parts))

async function* logFailure(request: FastifyRequest, parts: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* parts
  } catch (error) {
    request.log.error({ requestId: request.id, err: describe(error) }, 'request.broken_off')
    throw error
  }
}
