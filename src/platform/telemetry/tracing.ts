import type { Context } from '@opentelemetry/api'
import { StartError } from '../start-error.ts'
import { VERSION } from '../version.ts'

export type SpanName = 'send' | 'ingest' | 'handle' | 'deliver'
type SpanValues = Record<string, string | number>

export type Tracing = {
  /** Runs work as a span; `parent` is an incoming W3C traceparent. */
  span<Result>(
    name: SpanName,
    options: { values?: SpanValues; parent?: string | undefined },
    work: (set: (values: SpanValues) => void) => Promise<Result>,
  ): Promise<Result>
  headers(): Record<string, string>
  stop(): Promise<void>
}

/**
 * Loads the optional packages only here, to save their cost without traces. At most 2,048 spans wait; more are dropped.
 * Throws StartError without the packages.
 */
export async function startTracing(): Promise<Tracing> {
  const { api, sdk, exporter, resources } = await load()
  const attributes = { 'service.name': 'parley', 'service.version': VERSION }
  const provider = new sdk.NodeTracerProvider({
    resource: resources.resourceFromAttributes(attributes),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  })
  provider.register()
  const tracer = provider.getTracer('parley', VERSION)
  const contextOf = (parent: string | undefined): Context =>
    parent === undefined ? api.context.active() : api.propagation.extract(api.context.active(), { traceparent: parent })

  return {
    span: (name, { values = {}, parent }, work) =>
      tracer.startActiveSpan(name, { attributes: values }, contextOf(parent), async (span) => {
        try {
          return await work((more) => span.setAttributes(more))
        } catch (error) {
          span.setStatus({ code: api.SpanStatusCode.ERROR })
          throw error
        } finally {
          span.end()
        }
      }),
    headers: () => {
      const carrier: Record<string, string> = {}
      api.propagation.inject(api.context.active(), carrier)
      return carrier.traceparent === undefined ? {} : { traceparent: carrier.traceparent }
    },
    stop: () => provider.shutdown(),
  }
}

async function load() {
  try {
    const [api, sdk, exporter, resources] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
    return { api, sdk, exporter, resources }
  } catch (error) {
    throw new StartError(
      'OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages of OpenTelemetry are not installed: install Parley without --omit=optional, or unset it',
      error,
    )
  }
}
