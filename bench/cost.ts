import { availableParallelism, cpus } from 'node:os'
import { cpuSeconds } from './process.ts'
import type { Stage } from './stage.ts'
import { readStatements } from './statements.ts'

/** The cost of some work on this machine, in processor seconds of the program that was measured and of the database. */
export type Cost = {
  seconds: number
  service: number
  database: number
  /** Of all processors together, those that were idle included. */
  idle: number
  /** The seconds that each statement took in the database, if the stage counts them. */
  statements: Map<string, number>
}

const COLUMNS = ['seconds', 'service', 'database', 'idle'] as const

/** Does the work, and measures what the service, or other programs instead of it, and its database used meanwhile. */
export async function costOf<T>(stage: Stage, work: () => Promise<T>, pids?: number[]): Promise<[T, Cost]> {
  const read = async (): Promise<Cost> => {
    const { service, database } = await stage.cpu()
    const idle = cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1_000
    const own = pids === undefined ? service : cpuSeconds(...pids)
    const statements = pids === undefined ? await readStatements(stage) : new Map()
    return { seconds: performance.now() / 1_000, service: own, database, idle, statements }
  }
  const before = await read()
  const done = await work()
  return [done, combine([await read(), before], (some) => some.reduce((first, second) => first - second))]
}

export const sumOf = (costs: readonly Cost[]): Cost => combine(costs, (some) => some.reduce((sum, one) => sum + one, 0))

function combine(costs: readonly Cost[], join: (some: number[]) => number): Cost {
  const [seconds = 0, service = 0, database = 0, idle = 0] = COLUMNS.map((name) =>
    join(costs.map((cost) => cost[name])),
  )
  const names = new Set(costs.flatMap(({ statements }) => [...statements.keys()]))
  const all = [...names].map((name): [string, number] => [
    name,
    join(costs.map((cost) => cost.statements.get(name) ?? 0)),
  ])
  return { seconds, service, database, idle, statements: new Map(all) }
}

/** Processor time of each of so many items, and the statements that take most of the database's: the reason of a missed goal. */
export function reasonOf(cost: Cost, count: number): string {
  const { seconds, service, database, idle, statements } = cost
  const ms = (some: number) => ((some / count) * 1_000).toFixed(3)
  const busy = Math.round((1 - idle / (seconds * availableParallelism())) * 100)
  const slowest = [...statements]
    .filter(([, some]) => some > database / 50)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 6)
    .map(([name, some]) => `${name} ${ms(some)}`)
  const parts = slowest.length > 0 ? ` (${slowest.join(', ')})` : ''
  return `service ${ms(service)} ms, database ${ms(database)} ms${parts} each; processors ${busy} % busy`
}
