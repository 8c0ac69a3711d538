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
}

type Goal = { atLeast: number } | { atMost: number }
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

function judge(value: number, goal: Goal | undefined, unit: string): Pick<Figure, 'goal' | 'met'> {
  if (goal === undefined) return { goal: null, met: null }
  if ('atLeast' in goal) return { goal: `>= ${goal.atLeast} ${unit}`, met: value >= goal.atLeast }
  return { goal: `<= ${goal.atMost} ${unit}`, met: value <= goal.atMost }
}

/** The figures as lines of a table. */
export function tableOf(figures: readonly Figure[]): string {
  const head = ['figure', 'value', 'baseline', 'ratio', 'goal', '']
  const rows = figures.map((one) => [
    one.name,
    `${shorten(one.value)} ${one.unit}`,
    one.baselineValue === null ? '' : `${one.baseline}: ${shorten(one.baselineValue)}`,
    one.ratio === null ? '' : one.ratio.toFixed(2),
    one.goal ?? '',
    one.met === null ? '' : one.met ? 'met' : 'NOT MET',
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

const shorten = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))

/** Writes what a later run, or another machine's, is compared with. */
export const writeReport = (file: string, report: { commit: string; machine: object; figures: readonly Figure[] }) =>
  writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`)
