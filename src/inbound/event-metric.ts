import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { type EventStats, readEventStats } from './event-store.ts'

/** Registers gauges for the number and age of waiting events, read at each scrape. */
export function registerEventGauges(registry: Registry, db: Db): void {
  const gauge = (name: string, help: string, value: (stats: EventStats) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      aggregator: 'max',
      async collect() {
        const stats = await readEventStats(db).catch(() => undefined)
        if (stats !== undefined) this.set(value(stats))
      },
    })
  gauge('parley_events_waiting', 'Events not handled yet; at most 10000 are counted', ({ waiting }) => waiting)
  gauge('parley_events_oldest_seconds', 'How long the oldest of them has waited', ({ oldestSeconds }) => oldestSeconds)
}
