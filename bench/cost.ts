import { availableParallelism, cpus } from 'node:os'
import { type Figure, figure } from './figure.ts'
import { cpuSeconds, residentMegabytes } from './process.ts'
import type { Stage } from './stage.ts'

/** The cost of some work on this machine. */
export type Cost = {
  seconds: number
  /** Processor seconds of the program that was measured, and of the database. */
  service: number
  database: number
  /** The share of the processors that was busy. */
  busy: number
}

/** Does the work, and measures what the service, or other programs instead of it, and its database used meanwhile. */
export async function costOf<T>(stage: Stage, work: () => Promise<T>, pids?: number[]): Promise<[T, Cost]> {
  const read = async () => {
    const { service, database } = await stage.cpu()
    const times = cpus().map((one) => one.times)
    const idle = times.reduce((sum, one) => sum + one.idle, 0) / 1_000
    const own = pids === undefined ? service : cpuSeconds(...pids)
    return { seconds: performance.now() / 1_000, service: own, database, idle }
  }
  const before = await read()
  const done = await work()
  const after = await read()
  const seconds = after.seconds - before.seconds
  const busy = 1 - (after.idle - before.idle) / (seconds * availableParallelism())
  const cost = { seconds, service: after.service - before.service, database: after.database - before.database, busy }
  return [done, cost]
}

/** The cost of each of so many items as a sentence: the reason of a goal that is missed. */
export function reasonOf({ service, database, busy }: Cost, count: number): string {
  const ms = (seconds: number) => ((seconds / count) * 1_000).toFixed(3)
  return `service ${ms(service)} ms, database ${ms(database)} ms each; processors ${Math.round(busy * 100)} % busy`
}

export const joinCosts = (costs: readonly Cost[]): Cost => {
  const sum = (of: (cost: Cost) => number) => costs.reduce((total, cost) => total + of(cost), 0)
  return {
    seconds: sum(({ seconds }) => seconds),
    service: sum(({ service }) => service),
    database: sum(({ database }) => database),
    busy: sum(({ busy, seconds }) => busy * seconds) / sum(({ seconds }) => seconds),
  }
}

/** The highest memory of the service so far, under load; the reason says how much of it an idle one takes. */
export const memoryFigure = ({ service, idleMegabytes }: Stage): Figure =>
  figure('resident memory at its highest', residentMegabytes(service.pid).highest, 'MB', {
    atMost: 200,
    limitedBy: `${Math.round(idleMegabytes)} MB of it when idle after the start`,
  })
