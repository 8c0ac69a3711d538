import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Statuses that any route may answer when something is wrong here. */
const FAILURES = [500, 503]

/**
 * One wide line and one count per request, when its answer has gone out. The route's pattern stands for the address:
 * addresses contain emails of contacts, and query strings contain searches.
 */
export function recordRequests(app: FastifyInstance, metrics: Pick<Metrics, 'requests' | 'requestSeconds'>): void {
  // A count that begins at 1 has no increase that an alert could see.
  app.addHook('onRoute', ({ method, url, schema }) => {
    const answers = typeof schema?.response === 'object' && schema.response !== null ? Object.keys(schema.response) : []
    const statuses = new Set([...answers.filter((status) => /^[0-9]{3}$/.test(status)).map(Number), ...FAILURES])
    for (const one of [method].flat()) {
      for (const status of statuses) metrics.requests.inc({ method: one, route: url, status }, 0)
      metrics.requestSeconds.zero({ method: one, route: url })
    }
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
