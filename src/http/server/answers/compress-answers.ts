import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { consoleMark } from '../../admission/console-address.ts'

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
