import type { Figure } from './figure.ts'
import { onStage, type Stage } from './stage.ts'

/** The options of a benchmark. */
export type BenchContext = {
  /** At most about a minute for each part. */
  quick: boolean
  /** Part of the names of the parts that are measured; empty: all. */
  only: string
  /** Another checkout, which some benchmarks compare this one with. */
  root?: string | undefined
  /** Takes a figure for the table. */
  report: (figure: Figure) => void
  /** Prints progress. */
  say: (text: string) => void
}

export type Bench = (context: BenchContext) => Promise<void>

/** A benchmark of named parts, of which `--only` chooses some, on one stage. It starts nothing when none is chosen. */
export const benchOf =
  <Play extends { context: BenchContext; stage: Stage }>(
    prepare: (context: BenchContext, stage: Stage) => Promise<Play>,
    parts: Record<string, (play: Play) => Promise<unknown>>,
  ): Bench =>
  async (context) => {
    const chosen = Object.entries(parts).filter(([name]) => name.includes(context.only))
    if (chosen.length === 0) return
    await onStage(async (stage) => {
      const play = await prepare(context, stage)
      for (const [name, measure] of chosen) {
        context.say(name)
        await measure(play)
      }
    })
  }

/** The measurements of each of these, twice by turns (a, b, b, a), so that other load of the machine affects all alike. */
export async function byTurns<Name extends string, T>(
  measures: Record<Name, () => Promise<T>>,
): Promise<Record<Name, T[]>> {
  const names = Object.keys(measures) as Name[]
  const measured = Object.fromEntries(names.map((name): [Name, T[]] => [name, []])) as Record<Name, T[]>
  for (const name of [...names, ...names.toReversed()]) measured[name].push(await measures[name]())
  return measured
}
