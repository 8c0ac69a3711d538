import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../metrics.ts'

/**
 * One wide line and one count per request, when its answer has gone out. The route's pattern stands for the address:
 * addresses hold people's emails, query strings what they searched for.
 */
export function recordRequests(app: FastifyInstance, metrics: Pick<Metrics, 'requests' | 'requestSeconds'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
    const status = reply.statusCode
    metrics.requests.inc({ method, route, status })
    metrics.requestSeconds.observe({ method, route }, reply.elapsedTime / 1000)
    request.log.info(
      {
        requestId: request.id,
        method,
        route,
        status,
        durationMs: Math.round(reply.elapsedTime * 100) / 100,
        companyId: request.caller?.companyId,
        clientId: request.caller?.clientId,
        sessionId: request.session?.id,
        bytes: Number(reply.getHeader('content-length') ?? 0),
      },
      'request.answered',
    )
    done()
  })
}
