import { meanOf } from './average.ts'
import type { Context } from './bench.ts'
import { byTurns } from './by-turns.ts'
import { type Cost, costOf, reasonOf, sumOf } from './cost.ts'
import type { LoadOrder } from './load.ts'
import type { Program } from './process.ts'
import type { Stage } from './stage.ts'

/** One of those that are given the same load. */
export type Contender = {
  /** Whose service and database do the work. */
  stage: Stage
  /** The processes whose processor time counts; of the service when absent. */
  pids?: number[]
  /** Works through the load to the end of all that follows from it: how many items, how many a second, and their p99. */
  run(load: Partial<LoadOrder>): Promise<Done>
}
export type Done = { count: number; perSecond: number; p99Ms: number }

/** A contender whose work is done when it has answered: the service, or a peer. */
export const contender = (stage: Stage, order: LoadOrder, peer?: Program): Contender => ({
  ...{ stage, ...(peer && { pids: [peer.pid] }) },
  run: (more) => stage.load.run({ ...order, ...(peer && { url: peer.address }), ...more }),
})

/**
 * `name`: of the figures. `atLeast`: the least ratio of throughputs; `atMost`: the highest ratio of p99s. `halfLoad`: false where
 * that says nothing more. `perSecond`: the rate at which the p99 is measured, without the throughput.
 */
type Goals = { atLeast?: number; atMost?: number }
type Options = Goals & { name: string; halfLoad?: boolean; perSecond?: number; rounds?: number }

/**
 * All by turns at full load, then all at half of the slowest one's rate: Parley is to be ahead of each peer in both. The reason
 * of a goal that is missed is the processor time that each of them took.
 */
export async function compare(
  { report, say, quick }: Context,
  { name, atLeast = 1, atMost = 1, halfLoad = true, perSecond, rounds = 2 }: Options,
  parley: Contender,
  peers: Record<string, Contender>,
): Promise<void> {
  const seconds = quick ? 1.5 : 4
  const all: Record<string, Contender> = { Parley: parley, ...peers }
  const names = Object.keys(all)
  const measure = async (figure: 'perSecond' | 'p99Ms', load: Partial<LoadOrder>, times = rounds) => {
    const measureOne = (who: string) => {
      const { stage, run, pids } = all[who] ?? parley
      return costOf(stage, () => run(load), pids)
    }
    const done = await byTurns(names, measureOne, times)
    const means = names.map((who): [string, number] => [who, meanOf((done[who] ?? []).map(([one]) => one[figure]))])
    const { Parley: value = Number.NaN, ...than } = Object.fromEntries(means)
    const reason = names.map((who) => `${who}: ${reasonFor(done[who] ?? [])}`).join('; ')
    say(`${name}: ${means.map(([who, mean]) => `${who} ${mean.toFixed(1)}`).join(', ')} (${reason})`)
    return { value, than, reason }
  }
  let rate = perSecond
  if (rate === undefined) {
    await measure('perSecond', { seconds: seconds / 2 }, 1)
    const rates = await measure('perSecond', { seconds })
    report({ name: `${name}, throughput`, ...rates, unit: '/s', atLeast })
    rate = Math.min(rates.value, ...Object.values(rates.than)) / 2
  }
  if (!halfLoad) return
  const times = await measure('p99Ms', { seconds, perSecond: rate, concurrency: 256 })
  report({ name: `${name}, p99 at ${Math.round(rate)}/s`, ...times, unit: 'ms', atMost })
}

/** The cost of an item over several measurements. */
function reasonFor(some: readonly [Done, Cost][]): string {
  const count = some.reduce((sum, [done]) => sum + done.count, 0)
  return reasonOf(sumOf(some.map(([, cost]) => cost)), count)
}
