import { writeFile } from 'node:fs/promises'

/** One measured number, alone or beside what it is compared with. */
export type Figure = {
  name: string
  value: number
  unit: string
  baseline: string | null
  baselineValue: number | null
  /** The value in terms of the baseline. */
  ratio: number | null
  goal: string | null
  /** Null: no goal was set for it. */
  met: boolean | null
  /** Of a speed goal: what keeps the figure from being better, as a profile or a count showed it. */
  limitedBy: string | null
}

/** With `limitedBy` it is a speed goal, and stands in the summary of the run. */
export type Goal = ({ atLeast: number } | { atMost: number }) & { limitedBy?: string }
type Beside = { baseline: string; baselineValue: number }

/** A figure by itself; its goal is about the value. */
export function figure(name: string, value: number, unit: string, goal?: Goal): Figure {
  const none = { baseline: null, baselineValue: null, ratio: null }
  return { name, value, unit, ...none, ...judge(value, goal, unit) }
}

/** A figure beside its baseline; its goal is about their ratio. */
export function ratioFigure(name: string, value: number, unit: string, beside: Beside, goal?: Goal): Figure {
  const ratio = value / beside.baselineValue
  return { name, value, unit, ...beside, ratio, ...judge(ratio, goal, 'of it') }
}

function judge(value: number, goal: Goal | undefined, unit: string): Pick<Figure, 'goal' | 'met' | 'limitedBy'> {
  if (goal === undefined) return { goal: null, met: null, limitedBy: null }
  const { limitedBy = null } = goal
  if ('atLeast' in goal) {
    return { goal: `>= ${shorten(goal.atLeast)} ${unit}`.trim(), met: value >= goal.atLeast, limitedBy }
  }
  return { goal: `<= ${shorten(goal.atMost)} ${unit}`.trim(), met: value <= goal.atMost, limitedBy }
}

const HEAD = ['Figure', 'Value', 'Beside it', 'Ratio', 'Goal', 'Met, or the reason']

/** The figures as lines of a table; a missed goal without a reason is marked. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map(cellsOf)
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(HEAD), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The figures that have a speed goal as a table of Markdown, as bench/README.md shows them; undefined when there are none. */
export function summaryOf(figures: readonly Figure[]): string | undefined {
  const rows = figures.filter(({ limitedBy }) => limitedBy !== null).map(cellsOf)
  if (rows.length === 0) return undefined
  return [HEAD, HEAD.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const cellsOf = (one: Figure): string[] => [
  one.name,
  `${shorten(one.value)} ${one.unit}`.trim(),
  one.baselineValue === null ? '' : `${one.baseline}: ${shorten(one.baselineValue)}`,
  one.ratio === null ? '' : one.ratio.toFixed(2),
  one.goal ?? '',
  one.met === null ? '' : one.met ? 'met' : (one.limitedBy ?? 'NOT MET'),
]

const shorten = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))

/** Writes what a later run, or another machine's, is compared with. */
export const writeReport = (file: string, report: { commit: string; machine: object; figures: readonly Figure[] }) =>
  writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`)
