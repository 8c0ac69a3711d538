import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../../db/connect.ts'
import { type JobKind, tableOf } from '../job-kind.ts'
import { type JobStat, jobStats } from './job-stat-store.ts'

const GAUGES: [name: string, help: string, value: (stat: JobStat) => number][] = [
  ['parley_jobs_due', 'Jobs that could run now; above 10000 an estimate', (stat) => stat.due],
  ['parley_jobs_in_flight', 'Jobs under a lease', (stat) => stat.inFlight],
  ['parley_jobs_oldest_due_seconds', 'How long the oldest due job has waited', (stat) => stat.oldestDueAgeSeconds],
  ['parley_jobs_discarded', 'Jobs discarded after too many failures', (stat) => stat.failed],
]

/** Registers gauges by kind, read once per scrape; kinds without jobs read 0. */
export function registerJobGauges(registry: Registry, db: Db, kinds: readonly Pick<JobKind, 'kind' | 'table'>[]): void {
  const read = async (): Promise<JobStat[]> => {
    const stats = [...Map.groupBy(kinds, tableOf)].map(([table, alike]) =>
      jobStats(
        db,
        alike.map(({ kind }) => kind),
        table,
      ),
    )
    return (await Promise.all(stats)).flat()
  }
  let stats: Promise<JobStat[]> | undefined
  const statsOfThisScrape = () => {
    stats ??= read().finally(() => {
      stats = undefined
    })
    return stats
  }
  for (const [name, help, value] of GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      aggregator: 'max',
      async collect() {
        for (const stat of await statsOfThisScrape()) this.set({ kind: stat.kind }, value(stat))
      },
    })
  }
}
