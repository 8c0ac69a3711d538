import { writeFile } from 'node:fs/promises'

/** One measured number, alone or with the baseline that it is compared with. */
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
  /** The reason why the figure misses its goal, as this run measured it. */
  limitedBy: string | null
}

/** A bound of the value, or of the ratio. At most 0 is a check of correctness, any other a goal of speed. */
export type Goal = ({ atLeast: number } | { atMost: number }) & { limitedBy?: string }
type Baseline = { baseline: string; baselineValue: number }

/** A figure by itself; its goal is about the value. */
export function figure(name: string, value: number, unit: string, goal?: Goal): Figure {
  const none = { baseline: null, baselineValue: null, ratio: null }
  return { name, value, unit, ...none, ...judge(value, goal, unit) }
}

/** A figure with its baseline; its goal is about their ratio. */
export function ratioFigure(name: string, value: number, unit: string, compared: Baseline, goal?: Goal): Figure {
  const ratio = value / compared.baselineValue
  return { name, value, unit, ...compared, ratio, ...judge(ratio, goal, 'of it') }
}

/** A number of faults: none may be there. */
export const check = (name: string, value: number, unit: string): Figure => figure(name, value, unit, { atMost: 0 })

function judge(value: number, goal: Goal | undefined, unit: string): Pick<Figure, 'goal' | 'met' | 'limitedBy'> {
  if (goal === undefined) return { goal: null, met: null, limitedBy: null }
  const { limitedBy = null } = goal
  if ('atLeast' in goal) {
    return { goal: `>= ${shorten(goal.atLeast)} ${unit}`.trim(), met: value >= goal.atLeast, limitedBy }
  }
  return { goal: `<= ${shorten(goal.atMost)} ${unit}`.trim(), met: value <= goal.atMost, limitedBy }
}

const HEAD = ['Figure', 'Parley', 'Baseline', 'Ratio', 'Goal', 'Met, or the reason']

/** The figures as a table of Markdown whose columns are aligned; a missed goal without a reason is marked. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD, ...figures.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[], fill: string) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0, fill)).join(' | ')} |`
  const [head = HEAD, ...others] = rows
  return [
    line(head, ' '),
    line(
      HEAD.map(() => ''),
      '-',
    ),
    ...others.map((row) => line(row, ' ')),
  ].join('\n')
}

/** The goals of speed as a table, and the checks as one line; undefined when there is neither. */
export function summaryOf(figures: readonly Figure[]): string | undefined {
  const checks = figures.filter(isCheck)
  const goals = figures.filter((one) => one.goal !== null && !isCheck(one))
  const metChecks = checks.filter(({ met }) => met).length
  const line = checks.length > 0 ? [`Checks of correctness: ${metChecks} of ${checks.length} met`] : []
  const parts = [...(goals.length > 0 ? [tableOf(goals)] : []), ...line]
  return parts.length > 0 ? parts.join('\n\n') : undefined
}

const isCheck = ({ goal }: Figure) => goal?.startsWith('<= 0 ') ?? false

const cellsOf = (one: Figure): string[] => [
  one.name,
  `${shorten(one.value)} ${one.unit}`.trim(),
  one.baselineValue === null ? '' : `${one.baseline}: ${shorten(one.baselineValue)}`,
  one.ratio === null ? '' : one.ratio.toFixed(2),
  one.goal ?? '',
  one.met === null ? '' : one.met ? 'met' : `NOT MET${one.limitedBy === null ? '' : `: ${one.limitedBy}`}`,
]

const shorten = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))

/** Writes what a later run, or another machine's, is compared with. */
export const writeReport = (file: string, report: { commit: string; machine: object; figures: readonly Figure[] }) =>
  writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`)
