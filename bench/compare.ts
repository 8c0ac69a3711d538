import { meanOf } from './average.ts'
import type { Context } from './bench.ts'
import { byTurns } from './by-turns.ts'
import { type Cost, costOf, reasonOf, sumOf } from './cost.ts'
import type { LoadOrder } from './load.ts'
import type { Stage } from './stage.ts'

/** One of those that are given the same load. */
export type Contender = {
  /** The processes whose processor time counts; of the service when absent. */
  pids?: number[]
  /** Works through the load to the end of all that follows from it: how many items, how many a second, and their p99. */
  run(load: Partial<LoadOrder>): Promise<Done>
}
export type Done = { count: number; perSecond: number; p99Ms: number }

type Options = {
  stage: Stage
  /** Of the figures. */
  name: string
  /** The least ratio of Parley's throughput to that of each peer. */
  atLeast?: number
  /** False where items come in one piece. */
  atHalfLoad?: boolean
}

/**
 * All by turns at full load, then all at half of the slowest one's rate: Parley is to be ahead of each peer in both. The reason
 * of a goal that is missed is the processor time that each of them took.
 */
export async function compare(
  { report, say, quick }: Context,
  { stage, name, atLeast = 1, atHalfLoad = true }: Options,
  parley: Contender,
  peers: Record<string, Contender>,
): Promise<void> {
  const seconds = quick ? 1.5 : 4
  const all: Record<string, Contender> = { Parley: parley, ...peers }
  const names = Object.keys(all)
  const run = (who: string, load: Partial<LoadOrder>) => {
    const { run, pids } = all[who] ?? parley
    return costOf(stage, () => run(load), pids)
  }
  for (const who of names) await run(who, { seconds: seconds / 2 })
  const full = await byTurns(names, (who) => run(who, { seconds }))
  const compared = (of: Record<string, [Done, Cost][]>, pick: (done: Done) => number) => {
    const means = names.map((who): [string, number] => [who, meanOf((of[who] ?? []).map(([done]) => pick(done)))])
    const { Parley: value = Number.NaN, ...than } = Object.fromEntries(means)
    say(`${name}: ${means.map(([who, mean]) => `${who} ${mean.toFixed(1)}`).join(', ')}`)
    return { value, than, reason: names.map((who) => `${who}: ${reasonFor(of[who] ?? [])}`).join('; ') }
  }
  const rates = compared(full, ({ perSecond }) => perSecond)
  report({ name: `${name}, throughput`, ...rates, unit: '/s', atLeast })
  if (!atHalfLoad) return
  const perSecond = Math.min(rates.value, ...Object.values(rates.than)) / 2
  const half = await byTurns(names, (who) => run(who, { seconds, perSecond, concurrency: 256 }))
  const times = compared(half, ({ p99Ms }) => p99Ms)
  report({ name: `${name}, p99 at ${Math.round(perSecond)}/s`, ...times, unit: 'ms', atMost: 1 })
}

function reasonFor(some: readonly [Done, Cost][]): string {
  const count = some.reduce((sum, [done]) => sum + done.count, 0)
  return reasonOf(sumOf(some.map(([, cost]) => cost)), count)
}
