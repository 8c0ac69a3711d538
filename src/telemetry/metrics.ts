import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { VERSION } from '../version.ts'

export type Metrics = ReturnType<typeof createMetrics>

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** All that is measured, on one registry, shown at `/metrics`. Durations are in seconds. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the list of all metrics
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  new Gauge({
    name: 'parley_build_info',
    help: 'Always 1; the labels say which Parley runs on which Node',
    labelNames: ['version', 'node'] as const,
    aggregator: 'first',
    registers,
  }).set({ version: VERSION, node: process.version }, 1)
  return {
    registry,
    requests: new Counter({
      name: 'parley_http_requests_total',
      help: 'Requests answered',
      labelNames: ['method', 'route', 'status'] as const,
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'parley_http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['method', 'route'] as const,
      buckets: SECONDS,
      registers,
    }),
    sends: new Counter({
      name: 'parley_sends_total',
      help: 'WhatsApp sends by outcome',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    accountEvents: new Counter({
      name: 'parley_account_events_total',
      help: 'Events that providers reported about accounts, numbers and templates; critical: an account cannot send',
      labelNames: ['severity'] as const,
      registers,
    }),
    providerSeconds: new Histogram({
      name: 'parley_provider_request_duration_seconds',
      help: 'Time that a provider took to answer',
      labelNames: ['provider', 'operation'] as const,
      buckets: SECONDS,
      registers,
    }),
    emails: new Counter({
      name: 'parley_email_attempts_total',
      help: 'Attempts at emails by outcome; a fault of the mail server itself by its kind',
      labelNames: ['outcome'] as const,
      registers,
    }),
    mailReports: new Counter({
      name: 'parley_email_reports_total',
      help: 'Reports about emails: bounces, complaints, and mails to return paths that report no failure',
      labelNames: ['kind'] as const,
      registers,
    }),
    deliveries: new Counter({
      name: 'parley_webhook_attempts_total',
      help: 'Attempts at webhook deliveries by what became of the delivery',
      labelNames: ['outcome'] as const,
      registers,
    }),
    imports: new Counter({
      name: 'parley_imports_total',
      help: 'Imports of contacts that ended, by outcome',
      labelNames: ['outcome'] as const,
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'parley_webhook_attempt_duration_seconds',
      help: 'Time that a receiver took to answer',
      buckets: SECONDS,
      registers,
    }),
  }
}
