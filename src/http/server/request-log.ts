import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../../platform/telemetry/metrics.ts'

/** A defect; a single one should alert. */
const DEFECT = 500

/** Logs and counts requests. Must use the route pattern: addresses contain contact emails and searches. */
export function recordRequests(app: FastifyInstance, metrics: Pick<Metrics, 'requests' | 'requestSeconds'>): void {
  // Start at 0, because alerts cannot see an increase in a counter starting at 1. Other statuses and the 17 duration
  // series start with the first request; preset for every route they would add thousands of lines to each scrape.
  app.addHook('onRoute', ({ method, url: route }) => {
    const methods = [method].flat().filter((one) => one !== 'HEAD')
    for (const one of methods) metrics.requests.inc({ method: one, route, status: DEFECT }, 0)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
    const status = reply.statusCode
    metrics.requests.inc({ method, route, status })
    if (!request.routeOptions.config.isStream)
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
