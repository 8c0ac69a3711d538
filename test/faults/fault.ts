import type { Database } from './database/database.ts'
import { longestGap } from './gap.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

export type Say = (line: string) => void

/** The parts that a fault may act on. */
export type Site<Used extends Database> = {
  stage: Stage<Used>
  random: Random
  say: Say
  /** Takes how long no process answered a read. */
  gapsMs: number[]
  /** Acts while no load runs and nothing is left to do. */
  quietly<Result>(act: () => Promise<Result>): Promise<Result>
  /** How many faults of this name were made before: those with several forms take them in turn. */
  turn: number
}

export type Fault<Used extends Database> = { name: string; make(site: Site<Used>): Promise<unknown> }

export const times = <Used extends Database>(count: number, name: string, make: Fault<Used>['make']): Fault<Used>[] =>
  Array.from({ length: count }, () => ({ name, make }))

/** Does something to the database and says how long no process answered a read until one does again. */
export async function measureGap<Used extends Database>(
  { stage, gapsMs, say }: Site<Used>,
  what: string,
  act: Promise<unknown>,
): Promise<void> {
  const { processes, companies } = stage
  const { ms, standstillMs } = await longestGap(processes.addresses, companies[0]?.token ?? '', act)
  gapsMs.push(ms)
  const seconds = (value: number) => `${(value / 1_000).toFixed(1)} s`
  const standstill = standstillMs > 0 ? `, and the machine stood still for ${seconds(standstillMs)}` : ''
  say(`${what}: no process answered a read for ${seconds(ms)}${standstill}`)
}
