import type { Stage } from './stage.ts'

/** The seconds that the service's statements have taken in the database, by their step; none where they are not counted. */
export async function readStatements({ db, countsStatements }: Stage): Promise<Map<string, number>> {
  const seconds = new Map<string, number>()
  if (!countsStatements) return seconds
  const rows = await db<{ query: string; ms: number }[]>`
    select query, total_exec_time as ms from pg_stat_statements where query !~* 'pg_stat|peers[.]|pgboss|graphile_worker|^call bench'
  `
  for (const { query, ms } of rows) seconds.set(stepOf(query), (seconds.get(stepOf(query)) ?? 0) + ms / 1_000)
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
