import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../../platform/telemetry/metrics.ts'

/** The status of a defect: a single answer with it is worth an alert. */
const DEFECT = 500

/**
 * One wide line and one count per request, when its answer has gone out. The route's pattern stands for the address:
 * addresses contain emails of contacts, and query strings contain searches.
 */
export function recordRequests(app: FastifyInstance, metrics: Pick<Metrics, 'requests' | 'requestSeconds'>): void {
  // A count that begins at 1 has no increase that an alert could see. Other statuses, and the 17 lines of a duration, begin with
  // the first request: at 0 for every route they would be thousands of lines in each scrape.
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
