import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SpanName, Tracing } from '../../platform/telemetry/tracing.ts'

const SPANS: Partial<Record<string, SpanName>> = {
  sendWhatsAppMessage: 'send',
  receiveProviderEvents: 'ingest',
  receiveProviderEventsWithSecret: 'ingest',
}

/** Must be called before routes are registered. */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  app.addHook('onRoute', (route) => {
    const name = SPANS[route.schema?.operationId ?? '']
    const { handler } = route
    if (name === undefined) return
    route.handler = async function traced(request: FastifyRequest, reply: FastifyReply) {
      const { traceparent } = request.headers
      const parent = typeof traceparent === 'string' ? traceparent : undefined
      const values = { 'parley.request_id': request.id, 'parley.company_id': request.caller?.companyId ?? 0 }
      return tracing.span(name, { values, parent }, async () => handler.call(app, request, reply))
    }
  })
  app.addHook('onClose', () => tracing.stop())
}
