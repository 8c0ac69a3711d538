import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../connect.ts'

const STATES = ['active', 'idle', 'idle in transaction']

/** Counts connections by state in the database at each scrape. */
export function registerPoolGauge(registry: Registry, db: Db): void {
  new Gauge({
    name: 'parley_database_connections',
    help: 'Connections of all processes of the service to its database, by state',
    labelNames: ['state'],
    registers: [registry],
    aggregator: 'max',
    async collect() {
      for (const state of STATES) this.set({ state }, 0)
      const rows = await db<{ state: string; count: number }[]>`
        select state, count(*)::int as count
        from pg_stat_activity
        where datname = current_database() and state is not null
          and split_part(application_name, ' ', 1) = split_part(current_setting('application_name'), ' ', 1)
        group by state
      `.catch(() => [])
      for (const { state, count } of rows) this.set({ state }, count)
    },
  })
}
