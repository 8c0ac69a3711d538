import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { cacheCounts } from '../cache.ts'
import { VERSION } from '../version.ts'

/** Computing them takes long enough to limit readers. */
export const METRICS_SPACING_MS = 1_000

export type Metrics = ReturnType<typeof createMetrics>

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Durations are in seconds. */
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
  registerCacheMetrics(registers)
  const counter = counterOf(registers)
  return {
    registry,
    requests: counter('parley_http_requests_total', 'Requests answered', ['method', 'route', 'status']),
    requestSeconds: new Histogram({
      name: 'parley_http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['method', 'route'] as const,
      buckets: SECONDS,
      registers,
    }),
    sends: counter('parley_sends_total', 'WhatsApp sends by outcome', ['provider', 'outcome']),
    accountEvents: counter(
      'parley_account_events_total',
      'Events that providers reported about accounts, numbers and templates; critical: an account cannot send',
      ['severity'],
    ),
    providerSeconds: new Histogram({
      name: 'parley_provider_request_duration_seconds',
      help: 'Time that a provider took to answer',
      labelNames: ['provider', 'operation'] as const,
      buckets: SECONDS,
      registers,
    }),
    emails: counter(
      'parley_email_attempts_total',
      'Attempts at emails by outcome; a fault of the mail server itself by its kind',
      ['outcome'],
    ),
    mailReports: counter(
      'parley_email_reports_total',
      'Reports about emails: bounces, complaints, and mails to return paths that report no failure',
      ['kind'],
    ),
    deliveries: counter(
      'parley_webhook_attempts_total',
      'Attempts at webhook deliveries by what became of the delivery',
      ['outcome'],
    ),
    ...createWorkCounters(registers),
    deliverySeconds: new Histogram({
      name: 'parley_webhook_attempt_duration_seconds',
      help: 'Time that a receiver took to answer',
      buckets: SECONDS,
      registers,
    }),
  }
}

const counterOf =
  (registers: Registry[]) =>
  <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })

function createWorkCounters(registers: Registry[]) {
  const counter = counterOf(registers)
  return {
    workFailures: counter(
      'parley_work_failures_total',
      'Runs of background work that failed and are repeated: events of providers and jobs, by kind; without waits for locks',
      ['work'],
    ),
    sweeps: counter(
      'parley_sweeps_total',
      'Runs of the tasks that workers repeat, such as the deletion of expired data, by outcome',
      ['sweep', 'outcome'],
    ),
    unhandledEvents: counter(
      'parley_unhandled_events_total',
      'Parts of acknowledged events that could not be routed (no_number, not_proven) or processed (unreadable, no_customer, error)',
      ['reason'],
    ),
    imports: counter('parley_imports_total', 'Imports of contacts that ended, by outcome', ['outcome']),
  }
}

function registerCacheMetrics(registers: Registry[]): void {
  new Gauge({
    name: 'parley_cache_entries',
    help: 'Entries of each cache in memory',
    labelNames: ['cache'] as const,
    registers,
    collect() {
      for (const [cache, { entries }] of cacheCounts()) this.set({ cache }, entries)
    },
  })
  new Counter({
    name: 'parley_cache_reads_total',
    help: 'Reads of each cache by outcome: hit or miss; from the first read on',
    labelNames: ['cache', 'outcome'] as const,
    registers,
    collect() {
      this.reset()
      for (const [cache, { hits, misses }] of cacheCounts()) {
        if (hits + misses === 0) continue
        this.inc({ cache, outcome: 'hit' }, hits)
        this.inc({ cache, outcome: 'miss' }, misses)
      }
    },
  })
}
