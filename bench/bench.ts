import type { Figure } from './figure.ts'

/** The options of a benchmark. */
export type BenchContext = {
  /** At most a minute in all. */
  quick: boolean
  /** Part of the names of what is measured; empty: everything. */
  only: string
  /** Takes a figure for the table. */
  report: (figure: Figure) => void
  /** Prints progress. */
  say: (text: string) => void
}

export type Bench = (context: BenchContext) => Promise<void>
