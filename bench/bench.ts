import type { Figure } from './figure.ts'
import { onStage, type Stage } from './stage.ts'

/** The options of a benchmark. */
export type BenchContext = {
  /** At most about a minute for each part. */
  quick: boolean
  /** Part of the names of the parts that are measured; empty: all. */
  only: string
  /** Takes a figure for the table. */
  report: (figure: Figure) => void
  /** Prints progress. */
  say: (text: string) => void
}

export type Bench = (context: BenchContext) => Promise<void>

/** A benchmark of named parts, of which `--only` chooses some, on one stage. */
export const benchOf =
  <Play extends { context: BenchContext; stage: Stage }>(
    prepare: (context: BenchContext, stage: Stage) => Promise<Play>,
    parts: Record<string, (play: Play) => Promise<unknown>>,
  ): Bench =>
  (context) =>
    onStage(async (stage) => {
      const play = await prepare(context, stage)
      for (const [name, measure] of Object.entries(parts)) {
        if (!name.includes(context.only)) continue
        context.say(name)
        await measure(play)
      }
    })
