import { availableParallelism, cpus } from 'node:os'
import { cpuSeconds } from './process.ts'
import type { Stage } from './stage.ts'

/**
 * The cost of some work on this machine: seconds of the clock, processor seconds of the program that was measured, of the
 * database, and of all idle processors together; then the seconds of each statement in the database, if the stage counts them.
 */
export type Cost = Record<'seconds' | 'service' | 'database' | 'idle', number> & Record<string, number>

/** Does the work, and measures what the service, or other programs instead of it, and its database used meanwhile. */
export async function costOf<T>(stage: Stage, work: () => Promise<T>, pids?: number[]): Promise<[T, Cost]> {
  const read = async (): Promise<Cost> => {
    const own = await stage.cpu()
    return {
      ...(pids === undefined ? await readStatements(stage) : {}),
      ...{ seconds: performance.now() / 1_000, database: own.database },
      service: pids === undefined ? own.service : cpuSeconds(...pids),
      idle: cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1_000,
    }
  }
  const before = await read()
  const done = await work()
  const after = await read()
  for (const [name, value] of Object.entries(before)) after[name] = (after[name] ?? 0) - value
  return [done, after]
}

export function sumOf(costs: readonly Cost[]): Cost {
  const sum: Cost = { seconds: 0, service: 0, database: 0, idle: 0 }
  for (const [name, value] of costs.flatMap(Object.entries<number>)) sum[name] = (sum[name] ?? 0) + value
  return sum
}

/** Processor time of each of so many items, and the statements that take most of the database's: the reason of a missed goal. */
export function reasonOf({ seconds, service, database, idle, ...statements }: Cost, count: number): string {
  const ms = (some: number) => ((some / count) * 1_000).toFixed(3)
  const busy = Math.round((1 - idle / (seconds * availableParallelism())) * 100)
  const slowest = Object.entries(statements)
    .filter(([, some]) => some > database / 50)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 6)
    .map(([name, some]) => `${name} ${ms(some)}`)
  const parts = slowest.length > 0 ? ` (${slowest.join(', ')})` : ''
  return `service ${ms(service)} ms, database ${ms(database)} ms${parts} each; processors ${busy} % busy`
}

/** The seconds that the service's statements have taken in the database, by their step; none where they are not counted. */
async function readStatements({ db, countsStatements }: Stage): Promise<Record<string, number>> {
  if (!countsStatements) return {}
  const rows = await db<{ query: string; ms: number }[]>`
    select query, total_exec_time as ms from pg_stat_statements where query !~* 'pg_stat|peers[.]|pgboss|graphile_worker'
  `
  const seconds: Record<string, number> = {}
  for (const { query, ms } of rows) seconds[stepOf(query)] = (seconds[stepOf(query)] ?? 0) + ms / 1_000
  return seconds
}

/** The step of a journey that a statement is: the tables that it writes, else the function that it calls, else what it reads. */
export function stepOf(query: string): string {
  const writes = [...query.matchAll(/(insert into|delete from|(?<!for |key )update(?! set))\s+([a-z_]+)/gi)]
  const steps = writes.map(([, verb = '', table = '']) => `${verb.split(' ')[0]} ${table}`.toLowerCase())
  if (steps.length > 0) return new Set(steps).size === 1 ? (steps[0] ?? '') : `${steps[0]} …`
  const called = /(?:from|select|call)\s+(?!json|unnest|generate|exists|coalesce|count)([a-z_]+)\(/i.exec(query)?.[1]
  if (called !== undefined) return called.replaceAll('_', ' ')
  const read = /(?:from|join)\s+([a-z_]+)\b(?!\()/i.exec(query)?.[1]
  return read === undefined ? (query.split(/\s/)[0] ?? '') : `read ${read}`
}
