import { Gauge, type Registry } from 'prom-client'
import { type Db, type Fragment, sql } from '../db/connect.ts'
import { type JobKind, tableOf } from './job.ts'
import { isWaiting, JOBS, type JobTable, NO_WORKER } from './job-table.ts'

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

type JobStat = {
  kind: string
  /** Exact up to 10,000, then estimated by the planner. */
  due: number
  inFlight: number
  oldestDueAgeSeconds: number
  failed: number
}

const MOST_LANES = 10_000
const MOST_COUNTED = 10_000

/** Cheap with a million jobs: reads lane heads and counts at most 10,000. */
export async function jobStats(db: Db, kinds: readonly string[], table: JobTable = JOBS): Promise<JobStat[]> {
  const { name, isOfKind } = table
  const isWithin = table.isWithin(await table.openPartitions(db))
  const isWaitingWithin = sql`${isWaiting(table)} and ${isWithin}`
  const stats = await db<JobStat[]>`
    with recursive head as (
      select requested.kind, ''::text collate "C" as lane, null::timestamptz as due_at, 0 as step
      from unnest(${[...kinds]}::text[]) as requested (kind)
      union all
      select head.kind, next.lane, next.due_at, head.step + 1
      from head
      cross join lateral (
        select job.lane
        from ${name} job
        where ${isOfKind(sql`head.kind`)} and job.lane > head.lane and ${isWaitingWithin}
        order by ${table.order}
        limit 1
      ) as following
      cross join lateral (
        select following.lane, ranked.due_at
        from (
          ${ofEachRank(
            table,
            (isOfRank) => sql`
              select job.due_at
              from ${name} job
              where ${isOfKind(sql`head.kind`)} and job.lane = following.lane and ${isOfRank} and ${isWaitingWithin}
              order by job.due_at
              limit 1
            `,
          )}
        ) as ranked
        order by ranked.due_at
        limit 1
      ) as next
      where head.step < ${MOST_LANES}::integer
    ),
    due_lane as materialized (
      select head.kind, head.lane, head.due_at from head where head.due_at <= now()
    )
    select
      requested.kind,
      (
        select count(*)
        from (
          select
          from due_lane
          cross join lateral (
            ${ofEachRank(
              table,
              (isOfRank) => sql`
                select
                from ${name} job
                where ${isOfKind(sql`due_lane.kind`)} and job.lane = due_lane.lane and ${isOfRank} and job.due_at <= now()
                  and ${isWaitingWithin}
                limit ${MOST_COUNTED + 1}::integer
              `,
            )}
          ) as one
          where due_lane.kind = requested.kind
          limit ${MOST_COUNTED + 1}::integer
        ) as counted
      ) as due,
      (
        select count(*)
        from ${name} job
        where ${isOfKind(sql`requested.kind`)} and job.lease_until is not null and job.claim_id <> ${NO_WORKER}::uuid
          and ${isWithin}
      ) as in_flight,
      coalesce(
        (select extract(epoch from now() - min(due_lane.due_at)) from due_lane where due_lane.kind = requested.kind), 0
      )::double precision as oldest_due_age_seconds,
      (
        select count(*) from ${name} job where ${isOfKind(sql`requested.kind`)} and job.failed_at is not null
      ) as failed
    from unnest(${[...kinds]}::text[]) with ordinality as requested (kind, place)
    order by requested.place
  `
  return await Promise.all(
    stats.map(async (stat) =>
      stat.due > MOST_COUNTED ? { ...stat, due: await estimateDue(db, stat.kind, table) } : stat,
    ),
  )
}

const ofEachRank = ({ ranks: [first, ...others] }: JobTable, select: (isOfRank: Fragment) => Fragment): Fragment[] => [
  sql`(${select(first)})`,
  ...others.map((isOfRank) => sql`union all (${select(isOfRank)})`),
]

type Plan = [{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }]

async function estimateDue(db: Db, kind: string, table: JobTable): Promise<number> {
  const [row] = await db<Plan>`
    explain (format json)
    select from ${table.name} job
    where ${table.isOfKind(sql`${kind}::text`)} and ${isWaiting(table)} and job.due_at <= now()
  `
  return Math.max(row?.['QUERY PLAN']?.[0]?.Plan['Plan Rows'] ?? 0, MOST_COUNTED)
}
