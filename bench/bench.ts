import type { NewFigure } from './figure.ts'
import { type Stage, type StageOptions, setStage } from './stage.ts'

/** The options of a benchmark, and what it uses. */
export type Context = {
  /** Shorter loads. */
  quick: boolean
  /** Part of the names of the parts that are measured; empty: all. */
  only: string
  /** Another checkout, which `turns` compares with this one. */
  root?: string | undefined
  /** Takes a figure for the table. */
  report: (figure: NewFigure) => void
  /** Prints progress. */
  say: (text: string) => void
  /** Starts a service on a database of its own; both end with the benchmark. */
  setStage: (options?: StageOptions) => Promise<Stage>
}

export type Bench = (context: Omit<Context, 'setStage'>) => Promise<void>

/** A benchmark of named parts, of which `--only` chooses some. It starts nothing when no part is chosen. */
export const benchOf =
  <Play>(
    prepare: (context: Context) => Promise<Play>,
    parts: Record<string, (play: Play) => Promise<unknown>>,
  ): Bench =>
  async (context) => {
    const chosen = Object.entries(parts).filter(([name]) => name.includes(context.only))
    if (chosen.length === 0) return
    const stages: Stage[] = []
    const start = async (options: StageOptions = { statements: true }) => {
      const stage = await setStage(options)
      stages.unshift(stage)
      return stage
    }
    try {
      const play = await prepare({ ...context, setStage: start })
      for (const [name, measure] of chosen) {
        context.say(name)
        await measure(play)
      }
    } finally {
      for (const stage of stages) await stage.stop()
    }
  }
