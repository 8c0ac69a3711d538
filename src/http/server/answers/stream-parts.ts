import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { describe } from '../../errors/error-reply.ts'

/** Streams a response. A failure is logged and aborts the connection, so the client can detect truncation. */
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
